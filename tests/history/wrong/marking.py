"""The mark of a history that is wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..scene import Scene

Spoil = Callable[[Scene], None]

WRONG: Final[list[tuple[set[str], Spoil]]] = []


def wrong(*rules: str) -> Callable[[Spoil], Spoil]:
    """Note that what the function does to a right history breaks these rules and no others."""

    def note(spoil: Spoil) -> Spoil:
        WRONG.append((set(rules), spoil))
        return spoil

    return note
