"""What ends the pump's wait. A batch that forms while its neighbours still run wakes it once, not once for each."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Inbox(Generic[T]):
    """Messages from any thread for the one that waits."""

    def __init__(self) -> None:
        self._messages: deque[T] = deque()
        # How many messages end the wait.
        self._quorum = 1
        # Locked while nothing has happened; a semaphore of Python's own costs several times as much.
        self._bell = threading.Lock()
        self._bell.acquire()

    def put(self, message: T) -> None:
        """Leave a message; wake the one who waits if that makes enough of them."""
        self._messages.append(message)
        # Read after the append, as the one who waits counts after it has said how many it wants: one of both sees.
        if len(self._messages) >= self._quorum and self._bell.locked():
            # Two may ring at once.
            with contextlib.suppress(RuntimeError):
                self._bell.release()

    def wait(self, timeout: float, *, quorum: int = 1) -> None:
        """Wait until there are `quorum` messages, at most `timeout` seconds."""
        until = time.monotonic() + timeout
        self._quorum = quorum
        while len(self._messages) < quorum and (left := until - time.monotonic()) > 0:
            self._bell.acquire(timeout=left)
        self._quorum = 1

    def take(self) -> list[T]:
        """Return the messages that there are, in their order."""
        return [self._messages.popleft() for _ in range(len(self._messages))]
