"""The event loop of async handlers; it knows what each run has given to threads, which no cancellation reaches."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final, TypeVar, TypeVarTuple, Unpack

from .statements import Statements

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# What asyncio itself runs in threads for a handler: it writes nothing, and may take long.
HARMLESS: Final[tuple[Any, ...]] = (socket.getaddrinfo, socket.getnameinfo)


class Offloaded:
    """The functions that one run has given to threads and that have not ended; safe to call from any thread."""

    def __init__(self) -> None:
        self._futures: set[Future[Any]] = set()
        # Of the threads that run one of them now.
        self._statements: set[Statements] = set()
        self._when_over: Callable[[], object] | None = None
        self._lock = threading.Lock()

    def context(self) -> Context:
        """Return a context for the run's task: what is given to a thread in it, or in its children, belongs here."""
        context = copy_context()
        context.run(_current.set, self)
        return context

    def submit(self, executor: Executor, func: Callable[..., T], *args: Any) -> Future[T]:
        """Give a function to an executor."""
        # Others may run it in another process, or in a thread that runs another function of this run already.
        if type(executor) is ThreadPoolExecutor:
            future = executor.submit(self._run, func, *args)
        else:
            future = executor.submit(func, *args)
        with self._lock:
            self._futures.add(future)
        future.add_done_callback(self._ended)
        return future

    def stop(self) -> None:
        """Take back what has not begun, and cut short what the others wait for in the database; returns at once."""
        with self._lock:
            futures = list(self._futures)
            for statements in self._statements:
                statements.cut()
        for future in futures:
            future.cancel()

    def when_over(self, act: Callable[[], object]) -> None:
        """Call `act` once, as soon as none of them runs any more; in the last one's thread, or at once in this one."""
        with self._lock:
            if self._futures:
                self._when_over = act
                return
        act()

    def _run(self, func: Callable[..., T], *args: Any) -> T:
        statements = _statements_here()
        with self._lock:
            self._statements.add(statements)
        try:
            return func(*args)
        finally:
            with self._lock:
                self._statements.discard(statements)
            # What the thread runs next may be another run's.
            statements.settle()

    def _ended(self, future: Future[Any]) -> None:
        act = None
        with self._lock:
            self._futures.discard(future)
            if not self._futures:
                act, self._when_over = self._when_over, None
        if act is not None:
            act()


class EventLoop(asyncio.SelectorEventLoop):
    """Notes what a run gives to threads: asyncio.to_thread() and sync_to_async() both come by here."""

    def __init__(self) -> None:
        super().__init__()
        self.set_default_executor(ThreadPoolExecutor(thread_name_prefix="conveyor-asyncio"))

    def set_default_executor(self, executor: Executor) -> None:
        """Use another executor where none is named, as asyncio says."""
        super().set_default_executor(executor)  # type: ignore[arg-type]
        self._pool = executor

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Give a function to a thread, as asyncio says."""
        offloaded = _current.get(None)
        if offloaded is None or func in HARMLESS:
            return super().run_in_executor(executor, func, *args)
        return asyncio.wrap_future(offloaded.submit(executor or self._pool, func, *args), loop=self)

    def end(self) -> None:
        """Stop, and let the idle threads end; returns at once."""
        self._pool.shutdown(wait=False)
        self.stop()


_current: ContextVar[Offloaded] = ContextVar("conveyor_offloaded")
_here = threading.local()


def _statements_here() -> Statements:
    """Return the statements of this thread."""
    if not hasattr(_here, "statements"):
        _here.statements = Statements()
    statements: Statements = _here.statements
    return statements
