"""The SQL: one statement per file, named as the manager method that runs it.

Parameters are psycopg's named ones, every one cast. Every statement that looks at the time takes
`now`, an aware datetime, and uses the database's clock when it is None (design, rule 13).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def statement(name: str) -> str:
    """Return the text of `<name>.sql`. Raises FileNotFoundError if there is none."""
    return files(__name__).joinpath(f"{name}.sql").read_text(encoding="utf-8")


def names() -> list[str]:
    """Return the names of all statements."""
    return sorted(f.name[:-4] for f in files(__name__).iterdir() if f.name.endswith(".sql"))
