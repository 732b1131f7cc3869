"""The line of quick atomic jobs: while the few threads that serve it are busy, jobs gather for the next transaction.

No job waits for others to come: where a thread is free to serve, it takes what is there, be it one. What comes while
all are busy is shared out among them when they are done, as many jobs as there are then.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from .inflight import Held

# How many threads serve the line: while one waits for its commit, another one runs handlers.
SERVING: Final = 2
# A group is not divided into smaller ones than these for the sake of having several.
SMALL: Final = 16


class Turn:
    """One thread's turn at the line: up to `size` jobs whose `timeout` in seconds is the same."""

    def __init__(self, line: Line) -> None:
        self.size = 0
        self.timeout = 0.0
        self.until = math.inf
        # It goes on for longer than a turn should: others serve the line meanwhile.
        self.is_held_up = False
        self.has_begun = False
        self._line = line

    def begin(self, seconds: float) -> None:
        """Say how many jobs there are for it; after so many seconds it begins none but the first."""
        self.size, self.timeout = self._line.share(self)
        self.until = time.monotonic() + seconds

    def jobs(self) -> Iterator[Held]:
        """Give one job after the other; what it does not get to is for the next turn."""
        for place in range(self.size):
            if place and time.monotonic() >= self.until:
                return
            if (held := self._line.next(self.timeout)) is None:
                return
            yield held


class Line:
    """Jobs in line, and the turns that are under way. Any thread may use it. At most `most` jobs are one group."""

    def __init__(self, *, most: int) -> None:
        self._most = most
        # (job, the seconds that it may take)
        self._waiting: deque[tuple[Held, float]] = deque()
        self._turns: set[Turn] = set()
        self._lock = threading.Lock()

    def join(self, jobs: Iterable[tuple[Held, float]]) -> list[Turn]:
        """Add jobs with their timeouts; return the turns that threads are to take now."""
        with self._lock:
            self._waiting.extend(jobs)
            return self._new_turns()

    def end(self, turn: Turn) -> list[Turn]:
        """Note that a turn is over; return those that are to be taken now."""
        with self._lock:
            self._turns.discard(turn)
            return self._new_turns()

    def relieve(self, now: float) -> list[Turn]:
        """Return turns in place of those that are held up, as by one slow handler, if jobs wait for them."""
        with self._lock:
            for turn in self._turns:
                turn.is_held_up = now > turn.until
            return self._new_turns()

    def share(self, turn: Turn) -> tuple[int, float]:
        """Return how many jobs are for a turn that begins, and the timeout of the first."""
        with self._lock:
            waiting = len(self._waiting)
            timeout = self._waiting[0][1] if waiting else 0.0
            # With those that are about to begin too; who is at it already has its own.
            beginning = sum(not other.has_begun for other in self._turns)
            turn.has_begun = True
            return min(waiting, self._most, max(SMALL, math.ceil(waiting / beginning))), timeout

    def next(self, timeout: float) -> Held | None:
        """Take the first job, if it has that timeout."""
        with self._lock:
            if not self._waiting or self._waiting[0][1] != timeout:
                return None
            return self._waiting.popleft()[0]

    def _new_turns(self) -> list[Turn]:
        serving = sum(not turn.is_held_up for turn in self._turns)
        wanted = min(SERVING - serving, math.ceil(len(self._waiting) / SMALL))
        turns = [Turn(self) for _ in range(wanted)]
        self._turns.update(turns)
        return turns
