"""Arrays as PostgreSQL's text (its docs, "Array Input and Output Syntax"): the driver looks at each item thrice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def array_text(items: Iterable[str]) -> str:
    """Return the text of an array of these items, which are texts of PostgreSQL's already."""
    return f"{{{','.join(items)}}}"


def item_text(item: Any) -> str:
    """Return the text of an item, quoted where a character of it could mean something else."""
    if item is None:
        return "NULL"
    return quoted(item) if isinstance(item, str) else str(item)


def quoted(text: str) -> str:
    """Return a text as an item of an array."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
