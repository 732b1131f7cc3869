"""Memory that a child shares with its supervisor: which runs have started, until when they may go on, and counters.

It outlives the child, so that after a `kill -9` the supervisor can tell the runs that had started (they count
as lost) from the jobs that were only claimed (they are given back free; design rule 5), and those whose time was over.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import IO, Final

from ..outcomes import Token
from ..states import Verb

COUNTERS: Final = (
    "claimed", "started", "succeeded", "retried", "snoozed", "failed", "cancelled", "released",
    # Leases that this process found lost, and outcomes that the database refused as stale.
    "lost", "refused",
    # Turns of the pump: stands still when the process no longer fetches.
    "pulse",
    # Looks of the main thread: stand still when code holds the GIL.
    "looks",
    # 1 once a run would not stop, so that the process claims nothing more and will end.
    "leaving",
    # 1 once the process has given back or ended all that it held.
    "goodbye",
    # 1 once the process has heard that somebody asked this worker to drain.
    "draining",
    # When the database last took a heartbeat, and when the listener last heard itself (monotonic nanoseconds);
    # 0: not yet, or deaf by now.
    "beaten_at", "heard_at",
)  # fmt: skip
# Those that say how the process is; nobody adds them up.
SIGNS: Final = frozenset({"pulse", "looks", "leaving", "goodbye", "draining", "beaten_at", "heard_at"})
# Runs that came to an end of their own.
ENDS: Final = ("succeeded", "retried", "snoozed", "failed", "cancelled")
_PLACE_OF: Final = {counter: place for place, counter in enumerate(COUNTERS)}
_WORD: Final = 8
_HEADER: Final = len(COUNTERS)
# The words of a run's place.
_ID, _VERSION, _DUE, _VERB, _DELAY, _TIMEOUT, _PLACE = range(7)
_VERBS: Final = tuple(Verb)
_MOST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Until when a run may go on (monotonic seconds), and how it ends if only its process's end ends it.

    `timeout` is the time that it had, None where its job was cancelled; `delay` that of its retry. In seconds.
    """

    due_at: float
    verb: Verb
    delay: float = 0.0
    timeout: float | None = None


def board_places(slots: int) -> int:
    """Return how many runs a process of so many slots may have on its board.

    A run whose row is locked by somebody else keeps its place beside the next one.
    """
    return 2 * slots


def unnamed_file(label: str) -> IO[bytes]:
    """Return a file that lives as long as the child: in memory where that can be had: a container may be read-only."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create(label), "r+b")
    return tempfile.TemporaryFile()


class Board:
    """Counters, then one place per run that has started and has no answered outcome yet.

    A place is written in such an order that an id other than 0 always has its version beside it, and a due time other
    than 0 its verdict. Both processes read one monotonic clock.
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
        return _WORD * (_HEADER + _PLACE * places)

    @classmethod
    def create(cls, places: int) -> tuple[Board, IO[bytes]]:
        """Return a new board and its unnamed file; a child inherits the file's descriptor."""
        file = unnamed_file("conveyor-board")
        file.truncate(cls.size(places))
        return cls(file.fileno(), places), file

    # -- runs -----------------------------------------------------------------------------------------------

    def mark_started(self, token: Token) -> int:
        """Note that a run has started; returns its place, for the other methods."""
        place = self._free.popleft()
        at = _HEADER + _PLACE * place
        self._words[at + _VERSION] = token[1]
        self._words[at + _ID] = token[0]
        return place

    def limit(self, place: int, limit: Limit) -> None:
        """Note until when a run may go on, in place of what was noted before."""
        at = _HEADER + _PLACE * place
        self._words[at + _VERB] = _VERBS.index(limit.verb)
        self._words[at + _DELAY] = _whole(limit.delay * 1e3)
        # 0 is that of none, however short this one is.
        self._words[at + _TIMEOUT] = 0 if limit.timeout is None else max(1, _whole(limit.timeout * 1e3))
        self._words[at + _DUE] = _whole(limit.due_at * 1e9)

    def excuse(self, place: int) -> None:
        """Note that a run has ended by itself: nothing is due any more."""
        self._words[_HEADER + _PLACE * place + _DUE] = 0

    def clear(self, place: int) -> None:
        """Forget a run: its outcome is written."""
        self.excuse(place)
        self._words[_HEADER + _PLACE * place + _ID] = 0
        self._free.append(place)

    def started(self) -> list[Token]:
        """Return the tokens of the runs that had started."""
        return [(self._words[at + _ID], self._words[at + _VERSION]) for at in self._taken()]

    def overdue(self, now: float) -> dict[Token, Limit]:
        """Return the runs that should have ended by `now` (monotonic seconds)."""
        words = self._words
        return {
            (words[at + _ID], words[at + _VERSION]): Limit(
                due_at=words[at + _DUE] / 1e9,
                verb=_VERBS[words[at + _VERB]],
                delay=words[at + _DELAY] / 1e3,
                timeout=words[at + _TIMEOUT] / 1e3 or None,
            )
            for at in self._taken()
            if 0 < words[at + _DUE] <= now * 1e9
        }

    def _taken(self) -> list[int]:
        return [at for at in range(_HEADER, _HEADER + _PLACE * self._places, _PLACE) if self._words[at + _ID]]

    # -- counters -------------------------------------------------------------------------------------------

    def count(self, counter: str, by: int = 1) -> None:
        """Add to a counter."""
        with self._lock:
            self._words[_PLACE_OF[counter]] += by

    def say_leaving(self) -> None:
        """Note that nothing more is claimed and that the process will end: another one may take its place."""
        self._words[COUNTERS.index("leaving")] = 1

    def say_goodbye(self) -> None:
        """Note that nothing is held any more: an exit code alone proves nothing, since a handler may exit too."""
        self._words[COUNTERS.index("goodbye")] = 1

    def say_draining(self) -> None:
        """Note that this worker was asked, by its row in the database, to claim nothing more and to end."""
        self._words[_PLACE_OF["draining"]] = 1

    def say_beaten(self) -> None:
        """Note that the database has taken a heartbeat."""
        self._words[_PLACE_OF["beaten_at"]] = time.monotonic_ns()

    def say_hearing(self, hears: bool) -> None:
        """Note whether the listener hears its own notifications."""
        self._words[_PLACE_OF["heard_at"]] = time.monotonic_ns() if hears else 0

    def counters(self) -> dict[str, int]:
        """Return all counters."""
        return {name: self._words[i] for i, name in enumerate(COUNTERS)}


def _whole(number: float) -> int:
    # A century in nanoseconds fits; a timeout may be longer.
    return min(round(number), _MOST) if number < _MOST else _MOST
