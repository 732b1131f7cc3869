"""What a check finds: the problem and the fix."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from ..fleet import Fleet


class Level(StrEnum):
    """How bad it is."""

    # Looked at, and as it should be.
    OK = "ok"
    # Works, but not as it should, or not for long.
    WARNING = "warning"
    # Jobs wait, or will.
    PROBLEM = "problem"

    @property
    def exit_code(self) -> int:
        """What `conveyor_doctor` exits with where nothing is worse."""
        return list(Level).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check has found. `code` is stable; `remedy` says what to do, with the command to type."""

    code: str
    level: Level
    problem: str
    remedy: str

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def warning(code: str, problem: str, remedy: str) -> Finding:
    """Return a finding of that level."""
    return Finding(code, Level.WARNING, problem, remedy)


def problem(code: str, text: str, remedy: str) -> Finding:
    """Return a finding of that level."""
    return Finding(code, Level.PROBLEM, text, remedy)


class Check(NamedTuple):
    """One thing to look at: what is said of it where nothing is found, and how it is looked at."""

    good: str
    look: Callable[[Fleet], Iterable[Finding]]


def by_level(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings, the worst first, in the order given otherwise."""
    return sorted(findings, key=lambda finding: -finding.level.exit_code)
