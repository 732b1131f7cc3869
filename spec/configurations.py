r"""What is checked: the configurations of the modules, and what the comments at their heads say of them.

A head is the comment lines (`\* name: value`) before the first other line of a .cfg file:

    \* module: Wakeup                     the module, a file in the same folder, or in the one above mutants/
    \* about: one sentence                what is checked, or what is broken
    \* expect: violation of Name          TLC must find that this invariant or action property is violated
    \* expect: temporal                   TLC must find that the temporal property is violated
    \* redundant: why                     a mutant that must pass, since something else covers the guard
    \* deadlock: allowed                  a state without a successor is no error
    \* workers: 2                         threads of TLC; such runs are alone (1 unless given)
    \* by hand                            not run unless it is named, or with --by-hand

Without `expect`, everything in the configuration must hold.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

MUTANTS: Final = "mutants"
TEMPORAL: Final = "temporal"

_FIELDS: Final = frozenset({"module", "about", "expect", "redundant", "deadlock", "workers", "by hand"})
_EXPECTED: Final = re.compile(r"violation of (\w+)")


class InvalidConfiguration(Exception):
    """The head of a configuration does not say what the runner has to know."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One run of TLC.

    `expected` is the name of the invariant or action property to be violated, TEMPORAL, or None: all must hold.
    """

    name: str
    path: Path
    module: Path
    about: str
    expected: str | None = None
    redundant: str | None = None
    may_deadlock: bool = False
    workers: int = 1
    by_hand: bool = False

    @property
    def digest(self) -> str:
        """What tells figures of this configuration from those of another text of it, or of its module."""
        return hashlib.sha256(self.module.read_bytes() + self.path.read_bytes()).hexdigest()[:16]


def read_configurations(folder: Path) -> list[Configuration]:
    """Return those of `folder`, then its mutants, each by name. Raises InvalidConfiguration."""
    paths = [*sorted(folder.glob("*.cfg")), *sorted((folder / MUTANTS).glob("*.cfg"))]
    return [read_configuration(path, folder) for path in paths]


def read_configuration(path: Path, folder: Path) -> Configuration:
    """Return what a .cfg file under `folder` says of itself. Raises InvalidConfiguration."""
    head = _head(path)
    is_mutant = path.parent.name == MUTANTS
    for field in ("module", "about"):
        if not head.get(field):
            raise InvalidConfiguration(path, f"there is no line `\\* {field}: …` at its head.")
    module = folder / f"{head['module']}.tla"
    if not module.is_file():
        raise InvalidConfiguration(path, f"its module, {module}, does not exist.")
    if is_mutant and ("expect" in head) == ("redundant" in head):
        raise InvalidConfiguration(path, "a mutant has one of `\\* expect: …` and `\\* redundant: …` at its head.")
    return Configuration(
        name=path.relative_to(folder).with_suffix("").as_posix(),
        path=path,
        module=module,
        about=head["about"],
        expected=_expected(path, head.get("expect")),
        redundant=head.get("redundant"),
        may_deadlock=_may_deadlock(path, head.get("deadlock")),
        workers=_workers(path, head.get("workers", "1")),
        by_hand="by hand" in head,
    )


def choose(
    configurations: Iterable[Configuration], patterns: Sequence[str], *, by_hand: bool = False
) -> list[Configuration]:
    """Return those whose name or module matches a pattern (`Wakeup`, `mutants/cron-*`), all where none is given.

    What is run by hand alone has to be named in full, or asked for by `by_hand`. Raises ValueError for a pattern
    that nothing matches.
    """
    configurations = list(configurations)
    for pattern in patterns:
        if not any(_matches(one, pattern) for one in configurations):
            raise ValueError(f"no configuration is called {pattern!r}: see --list.")
    return [
        one
        for one in configurations
        if (not patterns or any(_matches(one, pattern) for pattern in patterns))
        and (by_hand or not one.by_hand or one.name in patterns)
    ]


def _matches(configuration: Configuration, pattern: str) -> bool:
    return configuration.module.stem == pattern or fnmatchcase(configuration.name, pattern)


def _head(path: Path) -> dict[str, str]:
    """Return the named values of the comment lines that a file begins with; other comments there are prose."""
    head: dict[str, str] = {}
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith(r"\*"):
            break
        field, _, value = line[2:].strip().partition(":")
        if field not in _FIELDS:
            continue
        if field in head:
            raise InvalidConfiguration(path, f"`{field}` stands twice at its head.")
        head[field] = value.strip()
    return head


def _expected(path: Path, value: str | None) -> str | None:
    if value is None or value == TEMPORAL:
        return value
    found = _EXPECTED.fullmatch(value)
    if found is None:
        raise InvalidConfiguration(path, f"`expect` is `violation of Name` or `{TEMPORAL}`, not {value!r}.")
    return found[1]


def _may_deadlock(path: Path, value: str | None) -> bool:
    if value not in {None, "allowed"}:
        raise InvalidConfiguration(path, f"`deadlock` is `allowed` or not there, not {value!r}.")
    return value is not None


def _workers(path: Path, value: str) -> int:
    if not value.isdecimal() or int(value) < 1:
        raise InvalidConfiguration(path, f"`workers` is a number from 1 on, not {value!r}.")
    return int(value)
