"""One worker process: its loops, its signals, and the order in which it stops."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import resource
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

from .. import counting
from ..conf import conveyor_settings
from ..log import event, get_logger
from ..loops import Loop
from ..managers.workers import application_name
from . import decide
from .board import SIGNS, Board, board_places
from .config import FLUSH_SECONDS, ChildConfig, Exit
from .deadlines import Deadlines
from .executor import Executor
from .handler import Handlers
from .heartbeat import Heartbeat
from .inflight import Held, InFlight
from .interrupt import interrupt_ignored_again
from .plan import QueuePlan
from .pump import Pump
from .reconnect import FailoverDetected, Trust
from .runs import Finished
from .sessions import prepare_sessions
from .tally import Tally
from .wakeup import ROLE as LISTENER
from .wakeup import Wakeup

logger = get_logger("worker.child")

# How often the main thread looks at deadlines and at the process's size.
WATCH_SECONDS = 0.2


class Child:
    """A worker process. `run` returns when it is over; the caller exits with what it returns."""

    def __init__(self, config: ChildConfig) -> None:
        self._config = config
        self._settings = conveyor_settings()
        # Reasons to end, from any thread and from signal handlers. Not an Event: a handler may interrupt the very
        # wait that it ends, and an Event's lock would not let it in.
        self._endings: queue.SimpleQueue[Exit] = queue.SimpleQueue()
        self._exit: Exit | None = None
        self._board = Board(config.board_fd, board_places(config.concurrency))
        tally = None if config.tally_fd is None else Tally(config.tally_fd)
        counting.on_enqueued = None if tally is None else tally.enqueued
        self._inflight = InFlight()
        self._plan = QueuePlan(config.queues, alias=config.alias, lease_seconds=self._settings.lease_seconds)
        self._heartbeat = Heartbeat(
            owner=config.incarnation, slots=config.concurrency, supervisor_pid=config.supervisor_pid,
            plan=self._plan, inflight=self._inflight, board=self._board,
            on_pruned=lambda: self._end(Exit.PRUNED), on_drain=self._asked_to_drain, on_cancelled=self._cancelled,
            on_beat=self._beaten,
            **self._database_options("heartbeat"),
        )  # fmt: skip
        self._pump = Pump(
            owner=config.incarnation, slots=config.concurrency, poll=config.poll, plan=self._plan,
            inflight=self._inflight, board=self._board, settings=self._settings, max_jobs=config.max_jobs,
            drain=config.drain, on_idle=self._idle, tally=tally,
            trust=Trust(is_given_since=self._heartbeat.is_fresh_since, ask=self._heartbeat.wake),
            **self._database_options("pump"),
        )  # fmt: skip
        self._wakeup = Wakeup(
            owner=config.incarnation, on_queue=self._pump.ring, on_doubt=self._in_doubt,
            on_cancel=self._heard_of_cancel, on_hearing=self._board.say_hearing, **self._database_options(LISTENER),
        )  # fmt: skip
        handlers = Handlers(owner=config.incarnation, alias=config.alias, settings=self._settings)
        self._executor = Executor(
            threads=config.concurrency, handlers=handlers, group_size=self._settings.atomic_group_size,
            board=self._board, done=self._pump.done, on_error=lambda error: self._failed("executor", error),
        )  # fmt: skip
        self._pump.executor = self._executor
        self._deadlines = Deadlines(
            inflight=self._inflight, board=self._board, grace=self._settings.timeout_grace_seconds
        )

    def run(self) -> Exit:
        """Work until told to stop, until there is no more to do, or until a loop fails."""
        self._listen_to_signals()
        prepare_sessions(self._config.alias, self._config.incarnation, self._settings.lease_seconds)
        event(logger, logging.INFO, "worker.started", incarnation=self._config.incarnation,
              slots=self._config.concurrency, queues=",".join(self._config.queues) or "*")  # fmt: skip
        self._executor.start()
        self._heartbeat.start()
        # Nothing is claimed before others can see who holds it.
        while not self._heartbeat.registered.is_set() and not self._is_ending():
            self._board.count("pulse")
        if self._exit is None:
            self._wakeup.start()
            self._pump.start()
        while not self._is_ending():
            self._watch()
        self._shut_down()
        code = self._exit or Exit.DONE
        event(logger, logging.INFO, "worker.stopped", incarnation=self._config.incarnation, exit=code.name,
              **_shown(self._board))  # fmt: skip
        return code

    @property
    def is_clean(self) -> bool:
        """Whether every handler has come to its end."""
        return not len(self._inflight)

    # -- why it ends ----------------------------------------------------------------------------------------

    def _end(self, code: Exit) -> None:
        """Begin to stop; the first reason counts."""
        self._endings.put(code)

    def _is_ending(self) -> bool:
        """Wait a moment for a reason to end; say whether there is one."""
        if self._exit is None:
            with contextlib.suppress(queue.Empty):
                self._exit = self._endings.get(timeout=WATCH_SECONDS)
        return self._exit is not None

    def _asked_to_drain(self) -> None:
        """End as at a signal; first tell the supervisor, which must start no other in this place."""
        self._board.say_draining()
        self._end(Exit.DONE)

    def _idle(self) -> None:
        recycled = self._config.max_jobs is not None and not self._config.drain
        self._end(Exit.RECYCLE if recycled else Exit.DONE)

    def _loop_failed(self, loop: Loop, error: BaseException) -> None:
        self._failed(loop.name, error)

    def _failed(self, part: str, error: BaseException) -> None:
        """Take the error that ended a part: without it the process is no worker any more."""
        event(logger, logging.CRITICAL, "loop.failed", loop=part, error=repr(error), exc_info=error)
        if isinstance(error, FailoverDetected):
            # What this incarnation holds may belong to a history that is gone: no outcome of it may be written.
            logging.shutdown()
            os._exit(Exit.FAILOVER)
        self._end(Exit.LOOP_FAILED)

    def _listen_to_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)
        threading.Thread(target=self._wait_for_orphanhood, name="conveyor-orphan", daemon=True).start()

    def _signalled(self, _number: int, _frame: FrameType | None) -> None:
        """Finish what runs, however often it is said: a service manager signals the whole group at once.

        Leaving at once is the supervisor's to decide, by SIGKILL.
        """
        self._end(Exit.DONE)

    def _wait_for_orphanhood(self) -> None:
        """End when the supervisor does: it holds the other end of our standard input."""
        # Unbuffered: a reader blocked in sys.stdin would hold its lock when the interpreter ends.
        while os.read(sys.stdin.fileno(), 1):
            continue
        event(logger, logging.WARNING, "supervisor.gone", supervisor_pid=self._config.supervisor_pid)
        self._end(Exit.DONE)

    def _watch(self) -> None:
        """Stop the handlers that must end; watch the size."""
        if self._stop_what_must_end():
            # Only the end of the process ends them; it also frees the slots that they hold.
            self._end(Exit.STUBBORN)
        limit = self._config.max_rss_bytes
        if limit is not None and _rss_bytes() > limit:
            event(logger, logging.INFO, "worker.too_big", rss_bytes=_rss_bytes(), limit=limit)
            self._end(Exit.RECYCLE)

    def _stop_what_must_end(self) -> list[Held]:
        """Stop handlers whose lease has lapsed, also while the database is away, or whose time is over.

        Returns the runs that would not stop.
        """
        interrupt_ignored_again()
        self._executor.relieve()
        self._board.count("looks")
        for held in self._inflight.expired():
            # The handler has ended: its outcome is being written, and the fence will decide.
            if not held.over:
                self._heartbeat.lose(held)
        return self._deadlines.look()

    # -- cancelled jobs -------------------------------------------------------------------------------------

    def _beaten(self) -> None:
        """Claim again, if it was this beat that was waited for."""
        self._pump.wake()

    def _in_doubt(self) -> None:
        """Look for jobs, and for those that were cancelled: of both one may have been told while nobody listened."""
        self._pump.doubt()
        self._heartbeat.wake()

    def _heard_of_cancel(self, job_id: int) -> None:
        """Ask the database at once: a notification is a hint."""
        if self._inflight.holds_job(job_id):
            self._heartbeat.wake()

    def _cancelled(self, held: Held) -> None:
        """End a job that was cancelled before it had started."""
        self._pump.done(Finished(held, decide.cancelled(held.claimed)))

    # -- how it ends ----------------------------------------------------------------------------------------

    def _shut_down(self) -> None:
        """Stop claiming, drain, give back, flush, and only then stop the heartbeat (design §7).

        A run that would not end is not given back, since it may still write: its row is its supervisor's, once this
        process is dead.
        """
        self._pump.quit_claiming()
        if self._exit is Exit.STUBBORN:
            self._board.say_leaving()
        self._heartbeat.draining = True
        self._heartbeat.wake()
        self._drain()
        for held in self._inflight.to_give_back():
            if not held.over:
                self._inflight.lapse(held)
                held.stop()
        self._pump.give_back("its worker stopped before it had ended")
        self._pump.stop()
        if not self._joined(self._pump):
            event(logger, logging.ERROR, "worker.unflushed", held=len(self._inflight))
        self._executor.stop()
        self._wakeup.stop()
        self._heartbeat.stop()
        if self._joined(self._heartbeat) and not len(self._inflight):
            self._board.say_goodbye()

    def _drain(self) -> None:
        """Let what runs come to its end, at most the grace, while leases are still renewed.

        What would not end anyway is not waited for.
        """
        grace = 0.0 if self._exit in (Exit.PRUNED, Exit.LOOP_FAILED) else self._config.grace
        until = time.monotonic() + grace
        while (left := until - time.monotonic()) > 0 and not self._inflight.wait_empty(min(left, WATCH_SECONDS)):
            self._board.count("pulse")
            if len(self._stop_what_must_end()) == len(self._inflight):
                return

    def _joined(self, loop: Loop) -> bool:
        """Wait for a loop's end, at most the time for a flush; say whether it came."""
        until = time.monotonic() + FLUSH_SECONDS
        while not (ended := loop.join(WATCH_SECONDS)) and time.monotonic() < until:
            self._board.count("looks")
        return ended

    def _database_options(self, role: str) -> dict[str, Any]:
        return {
            "alias": self._config.alias,
            "application_name": application_name(self._config.incarnation, role),
            "lease_seconds": self._settings.lease_seconds,
            "on_error": self._loop_failed,
        }


def _shown(board: Board) -> dict[str, int]:
    return {name: value for name, value in board.counters().items() if name not in SIGNS}


def _rss_bytes() -> int:
    """Return the resident size of this process now; where only the peak is known, the peak."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
