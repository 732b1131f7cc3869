"""Async handlers on one event loop, in a thread of its own; every run ends with exactly one call of `done`."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from functools import partial

from asgiref.sync import sync_to_async

from ..log import event, get_logger
from ..outcomes import Committed
from . import decide
from .eventloop import EventLoop, Offloaded
from .handler import Handlers
from .interrupt import Interrupted
from .runs import Done, Finished, Run
from .upkeep import ConnectionUpkeep

logger = get_logger("worker.coroutines")


class Coroutines:
    """Runs async handlers; the loop starts with the first of them.

    `begin` starts a handler's clock; it raises Interrupted where the run has to end before its handler has begun.
    """

    def __init__(self, *, handlers: Handlers, begin: Callable[[Run], None], done: Done) -> None:
        self._handlers = handlers
        self._begin = begin
        self._done = done
        self._loop: EventLoop | None = None
        self._lock = threading.Lock()
        self._stopping = False
        # The loop holds its tasks weakly.
        self._tasks: set[asyncio.Future[object]] = set()
        # Of the one thread in which Django's async ORM does its work.
        self._upkeep = ConnectionUpkeep()

    def submit(self, run: Run) -> None:
        """Run an async handler, from any thread; returns at once."""
        self._running_loop().call_soon_threadsafe(self._start, run)

    def stop(self) -> None:
        """Let the loop's thread end; returns at once."""
        self._stopping = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.end)

    def _start(self, run: Run) -> None:
        loop = asyncio.get_running_loop()
        self._in_the_orm_thread(self._upkeep.before)
        offloaded = Offloaded()
        task = loop.create_task(self._handlers.acall(run), context=offloaded.context())
        self._keep(task)
        task.add_done_callback(partial(self._ended, run, offloaded))

        def interrupt() -> None:
            # Both, and first so that the handler does not take the database's error for one to deal with.
            loop.call_soon_threadsafe(task.cancel)
            offloaded.stop()

        run.held.interrupt = interrupt
        try:
            self._begin(run)
        except Interrupted:
            task.cancel()

    def _ended(self, run: Run, offloaded: Offloaded, task: asyncio.Task[Finished]) -> None:
        """Report the end, or wait with it: a cancellation ends the coroutine, not what it has running in threads.

        What a handler that ended by itself has left in threads is not waited for: it has to await what it starts.
        """
        held, finished = run.held, self._finished(run, task)
        if not held.is_told:
            self._report(run, finished)
            return
        # What has come to wait since it was interrupted.
        held.interrupt = offloaded.stop
        held.stop()
        offloaded.when_over(partial(task.get_loop().call_soon_threadsafe, self._report, run, finished))

    def _finished(self, run: Run, task: asyncio.Task[Finished]) -> Finished:
        """Return how the task ended, also one that was cancelled before the handler had begun."""
        if task.cancelled():
            return self._handlers.ends.stopped(run.held, run, asyncio.CancelledError())
        if (error := task.exception()) is not None:
            return Finished(run.held, decide.failed_run(run.held.claimed, error, delay=1.0), run)
        return task.result()

    def _report(self, run: Run, finished: Finished) -> None:
        run.held.interrupt = None
        if run.fence.committed is not None and not isinstance(finished.outcome, Committed):
            # A thread came to commit the job's success after its handler was interrupted.
            error, run.error = run.error or asyncio.CancelledError(), None
            finished = self._handlers.ends.failed(run, error)
        self._in_the_orm_thread(self._upkeep.after)
        self._done(finished)

    def _in_the_orm_thread(self, look: Callable[[], object]) -> None:
        """Have the ORM's thread look after its connections; it works in order, so before whatever comes next."""
        self._keep(asyncio.ensure_future(sync_to_async(look)()))

    def _keep(self, task: asyncio.Future[object] | asyncio.Task[Finished]) -> None:
        self._tasks.add(task)  # type: ignore[arg-type]
        task.add_done_callback(self._tasks.discard)

    def _running_loop(self) -> EventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = EventLoop()
                threading.Thread(target=self._forever, args=(self._loop,), name="conveyor-asyncio", daemon=True).start()
            return self._loop

    def _forever(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run the loop, again after a stray task of a handler has ended it: sys.exit() in one does."""
        while not self._stopping:
            try:
                loop.run_forever()
            except BaseException as error:  # noqa: BLE001 - the other handlers of this process must go on
                event(logger, logging.ERROR, "eventloop.interrupted", error=repr(error), exc_info=error)
