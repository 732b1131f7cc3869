"""Showing the same thing again and again, in place where there is a terminal."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TextIO

_HOME_AND_HIDE: Final = "\x1b[H\x1b[?25l"
_CLEAR: Final = "\x1b[2J"
_TO_LINE_END: Final = "\x1b[K"
_REST: Final = "\x1b[J"
_SHOW_CURSOR: Final = "\x1b[?25h\n"


def watch(look: Callable[[], Sequence[str]], out: TextIO, *, seconds: float) -> None:
    """Write what `look` returns, every so many seconds, until Ctrl-C or SIGTERM; in place on a terminal.

    Elsewhere one comes after the other. Ends too when nobody reads any more.
    """
    terminal = out.isatty()
    with _interrupted_by_sigterm():
        try:
            if terminal:
                out.write(_CLEAR)
            while True:
                lines = look()
                out.write(_redrawn(lines) if terminal else "".join(f"{line}\n" for line in lines))
                out.flush()
                time.sleep(seconds)
        except (KeyboardInterrupt, BrokenPipeError):
            return
        finally:
            if terminal:
                out.write(_SHOW_CURSOR)
                out.flush()


def _redrawn(lines: Sequence[str]) -> str:
    """Return what writes the lines over those of before, as many as the terminal has room for."""
    room = shutil.get_terminal_size().lines - 1
    shown = list(lines)
    if len(shown) > room:
        shown[room - 1 :] = [f"… {len(shown) - room + 1} more lines; a taller window shows them"]
    return _HOME_AND_HIDE + "".join(f"{line}{_TO_LINE_END}\n" for line in shown) + _REST


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, also in the midst of a query."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
