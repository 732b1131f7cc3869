"""Work in batches that a signal stops between two of them, and that is paced."""

from __future__ import annotations

import math
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
# After a standstill of the database, what is late is made up for by at most so much, not in one burst.
MOST_LATE_SECONDS: Final = 1.0
# A paced batch is what is due in about this time.
BATCH_SECONDS: Final = 0.1


class Stop:
    """Whether a signal has asked this command to stop; the second signal ends it as ever."""

    def __init__(self) -> None:
        # Not an Event: a handler may interrupt the very wait that it ends.
        self._signals: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.requested = False

    @contextmanager
    def on_signals(self) -> Iterator[Stop]:
        """Let SIGINT and SIGTERM ask inside the block; elsewhere than in the main thread nothing changes."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        self._before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
        for number in STOP_SIGNALS:
            signal.signal(number, self._signalled)
        try:
            yield self
        finally:
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until a signal comes; say whether one has come."""
        if not self.requested:
            try:
                # 0 would wait for ever.
                self._signals.get(timeout=max(0.001, seconds))
            except queue.Empty:
                return False
            self.requested = True
        return True

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        self._signals.put(number)
        signal.signal(number, self._before[signal.Signals(number)])


class Pace:
    """How many jobs a second; without a rate, as many as there are. `clock` is monotonic, in seconds."""

    def __init__(self, rate: float | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate or math.inf
        self._clock = clock
        self._start = clock()

    def batch(self, most: int) -> int:
        """Return how many to take at once: at most `most`, at least one."""
        return int(min(most, max(1.0, self._rate * BATCH_SECONDS)))

    def wait_after(self, done: int) -> float:
        """Return the seconds to wait before the next batch, after so many in all.

        By the start and not by the last batch, so that no delay adds up; save what is very late, which is let go.
        """
        taken = done / self._rate
        self._start = max(self._start, self._clock() - taken - MOST_LATE_SECONDS)
        return max(0.0, self._start + taken - self._clock())
