"""Work for the threads of an executor: as many threads wake as there is work for, and no more.

To wake a thread costs more than the smallest jobs take. So one thread is called at a time, the one that went to
rest last; before it begins, it calls the next if there is more to do. While a job computes, the called one waits for
the interpreter's lock and finds nothing left if the jobs were small; as soon as a job waits for something, it begins.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Handoff(Generic[T]):
    """What is to be done, first in, first out, by any number of threads."""

    def __init__(self) -> None:
        self._work: deque[T] = deque()
        # The bells of the threads that rest: locks that are held until somebody calls.
        self._resting: list[threading.Lock] = []
        # A thread was called and has not come yet: it will see to whatever is there by then.
        self._called = False
        self._lock = threading.Lock()

    def put(self, work: T) -> None:
        """Leave work; returns at once."""
        with self._lock:
            self._work.append(work)
            self._call()

    def get(self) -> T:
        """Wait for work and take it."""
        bell: threading.Lock | None = None
        while True:
            with self._lock:
                if bell is not None:
                    self._called = False
                if self._work:
                    work = self._work.popleft()
                    self._call()
                    return work
                if bell is None:
                    bell = threading.Lock()
                    bell.acquire()
                self._resting.append(bell)
            bell.acquire()

    def _call(self) -> None:
        """Call the thread that has rested for the shortest time, if there is work for it; with the lock held."""
        if self._work and self._resting and not self._called:
            self._called = True
            self._resting.pop().release()
