"""The SQL: one statement per file, named as the manager method that runs it.

Parameters are psycopg's named ones, every one cast. Every statement that looks at the time takes
`now`, an aware datetime, and uses the database's clock when it is None (design, rule 13).
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

_PARAMETER: Final = re.compile(r"%(?:%|\((\w+)\)s)")


class Positional(NamedTuple):
    """A statement as the protocol takes it, and the names of its parameters: those of $1, $2 and so on."""

    text: str
    parameters: list[str]


@cache
def statement(name: str) -> str:
    """Return the text of `<name>.sql`. Raises FileNotFoundError if there is none."""
    return files(__name__).joinpath(f"{name}.sql").read_text(encoding="utf-8")


@cache
def positional(name: str) -> Positional:
    """Return `<name>.sql` with numbered parameters in place of psycopg's named ones."""
    return numbered(statement(name))


def numbered(text: str) -> Positional:
    """Return the statement with $1, $2 and so on in place of psycopg's named parameters."""
    parameters: list[str] = []

    def number(match: re.Match[str]) -> str:
        if match[1] is None:
            return "%"
        if match[1] not in parameters:
            parameters.append(match[1])
        return f"${parameters.index(match[1]) + 1}"

    return Positional(_PARAMETER.sub(number, text), parameters)


def names() -> list[str]:
    """Return the names of all statements."""
    return sorted(f.name[:-4] for f in files(__name__).iterdir() if f.name.endswith(".sql"))
