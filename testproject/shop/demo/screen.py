"""What the demo shows: lines, and on a terminal a progress bar below them."""

from __future__ import annotations

from io import TextIOBase
from typing import Final

WIDTH: Final = 30


class Screen:
    """Writes to `out`; the bar only where that is a terminal."""

    def __init__(self, out: TextIOBase) -> None:
        self._out = out
        self._bar = ""

    def say(self, line: str = "") -> None:
        """Write a line, above the bar."""
        self._out.write(f"{self._erased()}{line}\n")
        self._out.flush()

    def progress(self, done: int, total: int, note: str) -> None:
        """Draw the bar anew."""
        if self._out.isatty():
            filled = WIDTH * done // total
            bar = "█" * filled + "·" * (WIDTH - filled)
            self._draw(f"  {bar} {done}/{total}  {note}")

    def close(self) -> None:
        """Take the bar away."""
        self._out.write(self._erased())
        self._out.flush()

    def _draw(self, bar: str) -> None:
        if bar != self._bar:
            self._out.write(f"{self._erased()}{bar}")
            self._out.flush()
            self._bar = bar

    def _erased(self) -> str:
        # Back to the line's start, and erase to its end.
        erase = "\r\x1b[K" if self._bar else ""
        self._bar = ""
        return erase
