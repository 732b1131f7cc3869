"""Memory that a child shares with its supervisor: which runs have started, and counters.

It outlives the child, so that after a `kill -9` the supervisor can tell the runs that had started (they count
as lost) from the jobs that were only claimed (they are given back free; design rule 5).
"""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
from collections import deque
from typing import IO, Final

from ..outcomes import Token

COUNTERS: Final = (
    "claimed", "started", "succeeded", "retried", "snoozed", "failed", "cancelled", "released",
    # Leases that this process found lost, and outcomes that the database refused as stale.
    "lost", "refused",
    # Turns of the pump: stands still when the process no longer fetches.
    "pulse",
    # 1 once the process has given back or ended all that it held.
    "goodbye",
)  # fmt: skip
_WORD: Final = 8
_HEADER: Final = len(COUNTERS)


def board_places(slots: int) -> int:
    """Return how many runs a process of so many slots may have on its board.

    A run whose row is locked by somebody else keeps its place beside the next one.
    """
    return 2 * slots


def _unnamed_file() -> IO[bytes]:
    """Return a file that lives as long as the child: in memory where that can be had: a container may be read-only."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("conveyor-board"), "r+b")
    return tempfile.TemporaryFile()


class Board:
    """Counters, then one (job id, lease version) per run that has started and has no answered outcome yet.

    A place is written version first, so that an id other than 0 always has its version beside it.
    """

    def __init__(self, fd: int, places: int) -> None:
        self._map = mmap.mmap(fd, self.size(places))
        self._words = memoryview(self._map).cast("q")
        self._places = places
        self._free = deque(range(places))
        self._lock = threading.Lock()

    @staticmethod
    def size(places: int) -> int:
        """Return the bytes that a board of so many places takes."""
        return _WORD * (_HEADER + 2 * places)

    @classmethod
    def create(cls, places: int) -> tuple[Board, IO[bytes]]:
        """Return a new board and its unnamed file; a child inherits the file's descriptor."""
        file = _unnamed_file()
        file.truncate(cls.size(places))
        return cls(file.fileno(), places), file

    def mark_started(self, token: Token) -> int:
        """Note that a run has started; returns its place, for `clear`."""
        place = self._free.popleft()
        at = _HEADER + 2 * place
        self._words[at + 1] = token[1]
        self._words[at] = token[0]
        return place

    def clear(self, place: int) -> None:
        """Forget a run: its outcome is written."""
        self._words[_HEADER + 2 * place] = 0
        self._free.append(place)

    def started(self) -> list[Token]:
        """Return the tokens of the runs that had started."""
        at = range(_HEADER, _HEADER + 2 * self._places, 2)
        return [(self._words[i], self._words[i + 1]) for i in at if self._words[i]]

    def count(self, counter: str, by: int = 1) -> None:
        """Add to a counter."""
        with self._lock:
            self._words[COUNTERS.index(counter)] += by

    def say_goodbye(self) -> None:
        """Note that nothing is held any more: an exit code alone proves nothing, since a handler may exit too."""
        self.count("goodbye")

    def counters(self) -> dict[str, int]:
        """Return all counters."""
        return {name: self._words[i] for i, name in enumerate(COUNTERS)}
