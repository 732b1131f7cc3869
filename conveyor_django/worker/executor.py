"""Where handlers run: sync ones in threads, async ones on an event loop. It hands back outcomes, writes none."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from django.db import connections

from ..errors import UnknownTask
from ..log import event, get_logger
from . import decide, runspan
from .board import Board
from .coroutines import Coroutines
from .group import GroupTransaction
from .grouping import Grouping
from .handler import Handlers
from .handoff import Handoff
from .inflight import Held
from .interrupt import Interrupted
from .line import Turn
from .runs import Done, Finished, Run
from .stopper import Stopper
from .upkeep import ConnectionUpkeep

logger = get_logger("worker.executor")

Job = Callable[[], None]


class Executor:
    """Runs held jobs on `threads` threads and one event loop.

    At most `group_size` small atomic ones share a thread and a transaction. `done` gets the end of each, from any
    thread; `on_error` what ended a thread.
    """

    def __init__(
        self,
        *,
        threads: int,
        handlers: Handlers,
        board: Board,
        done: Done,
        on_error: Callable[[BaseException], None],
        group_size: int = 1,
    ) -> None:
        self._handlers = handlers
        self._board = board
        self._done = done
        self._on_error = on_error
        self._grouping = Grouping(handlers, most=group_size)
        self._inbox: Handoff[Held | Turn | Job | None] = Handoff()
        self._threads = [
            threading.Thread(target=self._report_errors, name=f"conveyor-executor-{i}", daemon=True)
            for i in range(threads)
        ]
        self._coroutines = Coroutines(handlers=handlers, begin=self._begin, done=self._over)

    def start(self) -> None:
        """Start the threads; the event loop starts with the first async job."""
        for thread in self._threads:
            thread.start()

    def submit(self, *jobs: Held) -> None:
        """Run jobs as soon as threads are free; given together, some may share a transaction."""
        for work in self._grouping.sort(jobs):
            self._inbox.put(work)

    def relieve(self) -> None:
        """Let other threads run what waits while groups are held up; to be called now and then."""
        for turn in self._grouping.line.relieve(time.monotonic()):
            self._inbox.put(turn)

    def announce(self, finished: Finished) -> None:
        """Send the signal of a run's end, in an executor thread: receivers may be slow and use the database."""
        if self._handlers.wants_announcement(finished):
            self._inbox.put(lambda: self._handlers.announce_end(finished))

    def stop(self) -> None:
        """Let the threads end once they are free; returns at once."""
        for _ in self._threads:
            self._inbox.put(None)
        self._coroutines.stop()

    def _report_errors(self) -> None:
        """Work, and pass on what ends the thread: dead in silence, it would leave a process that runs nothing."""
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - passed on
            self._on_error(error)

    def _work(self) -> None:
        """Take one job after the other: the life of an executor thread."""
        upkeep, stopper = ConnectionUpkeep(), Stopper()
        while (work := self._inbox.get()) is not None:
            upkeep.before()
            if isinstance(work, Held):
                self._run(work, stopper)
                stopper.settle()
            elif isinstance(work, Turn):
                self._take_turn(work, stopper)
            else:
                self._guarded(work)
            self._say_left_open(work, upkeep.after())
        connections.close_all()

    def _take_turn(self, turn: Turn, stopper: Stopper) -> None:
        """Serve the line of quick atomic jobs once."""
        turn.begin(self._grouping.paces.group_seconds)
        if turn.size > 1:
            self._run_group(turn, stopper)
        else:
            for held in turn.jobs():
                self._run(held, stopper)
                stopper.settle()
        for following in self._grouping.line.end(turn):
            self._inbox.put(following)

    def _run_group(self, turn: Turn, stopper: Stopper) -> None:
        """Run the jobs of a turn in one transaction; those that cannot end so are run again, alone."""
        transaction = GroupTransaction(self._handlers, alias=self._handlers.alias, paces=self._grouping.paces)

        def run_all() -> None:
            for held in turn.jobs():
                self._run(held, stopper, transaction)
                stopper.settle()
                transaction.tidy()

        transaction.around(run_all, timeout=turn.timeout)
        for finished in transaction.finished():
            self._over(finished)
        for held in transaction.again() if transaction.has_begun else turn.jobs():
            self._inbox.put(held)

    def _run(self, held: Held, stopper: Stopper, group: GroupTransaction | None = None) -> None:
        """Run a job, in a transaction of a group or by itself, and pass on its end, if that is known then."""
        run: Run | None = None
        finished: Finished | None = None
        began = time.monotonic()
        try:
            if not self._start(held):
                return
            with stopper:
                held.interruptible_by(stopper.stop, stopper.shield)
                run = self._handlers.prepare(held)
                if run.is_async:
                    held.interruptible_by(None, None)
                else:
                    self._begin(run)
                    finished = self._handlers.call(run) if group is None else group.call(run)
        except UnknownTask as error:
            finished = Finished(held, decide.unknown_task(held.claimed, error))
        except Interrupted as error:
            # It came before the handler's begin, or between its end and ours.
            finished = finished or self._handlers.ends.stopped(held, run, error)
        except BaseException as error:  # noqa: BLE001 - a defect of ours or of a receiver must not lose the job
            finished = Finished(held, decide.failed_run(held.claimed, error, delay=1.0), run)
        finally:
            # The thread goes on to the next run: nothing of this one may interrupt it any more.
            held.interruptible_by(None, None)
            runspan.leave(run)
        if run is not None and run.is_async and finished is None:
            self._coroutines.submit(run)
            return
        if held.resting and held.place is not None:
            # It waits for others now: no time of its own runs.
            self._board.excuse(held.place)
        if run is not None:
            self._grouping.note(run, began, alone=group is None)
        if finished is not None:
            self._over(finished)

    def _start(self, held: Held) -> bool:
        """Note that a job starts; False if it was cancelled while it waited for a thread: who did that has said so."""
        if held.place is None:
            if not held.take():
                return False
            held.place = self._board.mark_started(held.token)
            self._board.count("started")
        return True

    def _begin(self, run: Run) -> None:
        """Start the handler's clock. Raises Interrupted if the run has to end before its handler has begun."""
        held = run.held
        held.begin(run.timeout)
        if held.place is not None and (limit := self._handlers.ends.limit(run)) is not None:
            self._board.limit(held.place, limit)
        if held.must_end:
            raise Interrupted

    def _over(self, finished: Finished) -> None:
        """Pass on the end of a run: from here on nothing interrupts it, and nothing is due."""
        held = finished.held
        held.end()
        if held.place is not None:
            self._board.excuse(held.place)
        self._done(finished)

    def _say_left_open(self, work: Held | Turn | Job, aliases: list[str]) -> None:
        """Say that a handler left a transaction open: what it wrote in it is rolled back."""
        if aliases and isinstance(work, Held):
            event(
                logger, logging.WARNING, "transaction.left_open",
                job=work.claimed.id, task=work.claimed.task, databases=",".join(aliases),
            )  # fmt: skip

    def _guarded(self, work: Job) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - only a signal is at stake
            event(logger, logging.ERROR, "announcement.failed", error=repr(error), exc_info=error)
