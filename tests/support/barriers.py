"""Two sides of a race, each on a thread and a connection of its own, stepped by the test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from conveyor_django.db import Connection

from .waits import PATIENCE, backend_pid, is_blocked, wait_until, wait_until_blocked

T = TypeVar("T")


class Running(Generic[T]):
    """A statement that runs on another thread."""

    def __init__(self, future: Future[T], connection: Connection, watcher: Any) -> None:
        self._future = future
        self._pid = backend_pid(connection)
        self._watcher = watcher

    @property
    def done(self) -> bool:
        """Whether it has returned or raised."""
        return self._future.done()

    def result(self) -> T:
        """Wait for the end; return its value or raise its error."""
        return self._future.result(timeout=PATIENCE)

    def wait_until_blocked(self) -> None:
        """Wait until the database shows that it waits for somebody's lock."""
        wait_until_blocked(self._watcher, self._pid)

    def settle(self) -> bool:
        """Wait until it has either ended or met a lock; say whether it met one."""
        wait_until(lambda: self.done or is_blocked(self._watcher, self._pid), "the statement ends or meets a lock")
        return not self.done


class Threads:
    """Starts the sides of a race; `watcher` looks at the database's locks meanwhile."""

    def __init__(self, pool: ThreadPoolExecutor, watcher: Any) -> None:
        self._pool = pool
        self._watcher = watcher

    def start(self, connection: Connection, call: Callable[..., T], *args: Any, **kwargs: Any) -> Running[T]:
        """Run `call(*args, on=connection, **kwargs)` on another thread."""
        future = self._pool.submit(call, *args, on=connection, **kwargs)
        return Running(future, connection, self._watcher)


@contextmanager
def threads(watcher: Any) -> Iterator[Threads]:
    """Give `Threads`, all ended when the block ends; close or commit what they wait for first."""
    with ThreadPoolExecutor(thread_name_prefix="side") as pool:
        yield Threads(pool, watcher)


def at_once(*calls: Callable[[], T]) -> list[T]:
    """Run the calls on a thread each, all released by one barrier; return their values or raise the first error."""
    barrier = threading.Barrier(len(calls))

    def meet(call: Callable[[], T]) -> T:
        barrier.wait(PATIENCE)
        return call()

    with ThreadPoolExecutor(len(calls), thread_name_prefix="side") as pool:
        return [future.result() for future in [pool.submit(meet, call) for call in calls]]
