"""The supervisor of a worker: starts its children, watches them, replaces them, rescues what they held."""

from __future__ import annotations

import logging
import os
import queue
import signal
import time
import uuid
from dataclasses import dataclass, replace
from types import FrameType

from django.db import connections

from ..conf import ConveyorSettings
from ..log import event, get_logger
from ..loops import Loop
from .board import ENDS, Board, board_places
from .config import FLUSH_SECONDS, ChildConfig, Exit, stuck_after
from .processes import ChildProcess, spawn
from .reload import FileWatch
from .takeover import Dead, Takeovers
from .tally import Tally
from .totals import Totals

logger = get_logger("worker.supervisor")

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
WATCH_SECONDS = 0.5
# `timeout` and service managers signal the process and then its group: what comes so soon is the same signal.
ECHO_SECONDS = 0.005
# A child that lived shorter than this is not replaced at once, but after a growing delay.
YOUNG_SECONDS = 5.0
MAX_RESPAWN_SECONDS = 30.0
# A child with a run past its time and grace is frozen if its main thread has not looked around for so long.
FROZEN_SECONDS = 2.0
# What a child may take beyond its grace to give back and flush; a frozen one never would.
OVERTIME_SECONDS = 2 * FLUSH_SECONDS + 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """What a worker is told on its command line. Times are in seconds."""

    alias: str
    queues: tuple[str, ...]
    processes: int
    concurrency: int
    grace: float
    poll: float
    max_jobs: int | None = None
    max_rss_bytes: int | None = None
    drain: bool = False
    reload: bool = False
    log_format: str = "text"
    log_level: int = logging.INFO
    # Whether the children count by queue and task, for metrics.
    tallied: bool = False


class Supervisor:
    """Runs a worker of several processes until a signal, or until its queues are drained."""

    def __init__(self, options: WorkerOptions, *, settings: ConveyorSettings) -> None:
        self._options = options
        self._settings = settings
        self._companions: list[Loop] = []
        self._children: list[ChildProcess] = []
        # When to start the next replacements (monotonic).
        self._respawns: list[float] = []
        self._young_deaths = 0
        self.totals = Totals()
        # Signals, and None for a bare wake-up. Not an Event: a handler may interrupt the very wait that it ends.
        self._inbox: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._signalled_at: float | None = None
        self._code = 0
        self._takeovers = Takeovers(
            settings=settings, alias=options.alias, application_name=f"conveyor supervisor {os.getpid()}",
            lease_seconds=settings.lease_seconds, on_error=self.loop_failed, totals=self.totals,
        )  # fmt: skip
        self._files = FileWatch() if options.reload else None

    def accompany(self, loop: Loop) -> None:
        """Run a loop (the scheduler's) beside the children: started and stopped with them."""
        self._companions.append(loop)

    def run(self) -> int:
        """Work until it is over; return the exit code."""
        before = {number: signal.signal(number, self._signalled) for number in STOP_SIGNALS}
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: self._inbox.put(None))
        self._takeovers.start()
        for loop in self._companions:
            loop.start()
        for _ in range(self._options.processes):
            self._spawn()
        while self._children or self._respawns:
            self._wait()
            # Before one that has ended of it is forgotten, and replaced.
            self._heed_drain()
            self._reap()
            self._respawn()
            self._watch()
        self._finish()
        # A test may call the command in a process that goes on.
        for number, handler in before.items():
            signal.signal(number, handler)
        return self._code

    def loop_failed(self, loop: Loop, error: BaseException) -> None:
        """Take the error of a loop: a supervisor that cannot rescue stops in order and says so."""
        event(logger, logging.CRITICAL, "loop.failed", loop=loop.name, error=repr(error), exc_info=error)
        self._code = Exit.LOOP_FAILED
        self._inbox.put(None)

    # -- signals --------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Wait for a signal, or until something is due."""
        try:
            number = self._inbox.get(timeout=self._patience())
        except queue.Empty:
            return
        if not self._stopping and (number in STOP_SIGNALS or self._code):
            self._begin_stop()
            if number is not None:
                # Who has read the line below and signals again means it.
                time.sleep(ECHO_SECONDS)
                name = signal.Signals(number).name
                event(logger, logging.INFO, "worker.stopping", signal=name, grace=self._options.grace)

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        """Pass the first signal on to the loop; leave at the second, whatever the loop is blocked in."""
        now = time.monotonic()
        if self._signalled_at is None:
            self._signalled_at = now
            self._inbox.put(number)
            return
        if now - self._signalled_at < ECHO_SECONDS:
            return
        # The children leave at once too; others take over by lock and lease.
        for child in list(self._children):
            child.process.kill()
        os._exit(Exit.FORCED)

    def _heed_drain(self) -> None:
        """Stop as at a signal where a child has heard that this worker is to drain."""
        if not self._stopping and any(child.is_draining for child in self._children):
            self._begin_stop()
            event(logger, logging.INFO, "worker.stopping", reason="asked to drain", grace=self._options.grace)

    def _begin_stop(self) -> None:
        self._stopping = True
        self._stop_by = time.monotonic() + self._options.grace + OVERTIME_SECONDS
        self._respawns.clear()
        for child in self._children:
            child.signal(signal.SIGTERM)

    _stopping = False
    # When a child that was asked to stop is not waited for any longer (monotonic).
    _stop_by = float("inf")

    # -- children -------------------------------------------------------------------------------------------

    def _spawn(self) -> None:
        options = self._options
        board, board_file = Board.create(board_places(options.concurrency))
        tally, tally_file = Tally.create() if options.tallied else (None, None)
        config = ChildConfig(
            incarnation=uuid.uuid4(), alias=options.alias,
            database=connections[options.alias].settings_dict["NAME"], queues=options.queues,
            concurrency=options.concurrency, grace=options.grace, poll=options.poll,
            supervisor_pid=os.getpid(), board_fd=board_file.fileno(), max_jobs=options.max_jobs,
            max_rss_bytes=options.max_rss_bytes, drain=options.drain, log_format=options.log_format,
            log_level=options.log_level, tally_fd=tally_file.fileno() if tally_file else None,
        )  # fmt: skip
        child = spawn(config, board, [board_file, tally_file] if tally_file else [board_file], tally=tally)
        self._children.append(child)
        self.totals.join(child)
        event(logger, logging.INFO, "child.started", pid=child.pid, incarnation=config.incarnation)

    def _reap(self) -> None:
        """Take note of the children that have ended."""
        for child in [c for c in self._children if c.process.poll() is not None]:
            self._children.remove(child)
            self._ended(child, child.process.returncode)
            self.totals.leave(child)
            child.close()

    def _ended(self, child: ChildProcess, code: int) -> None:
        clean = child.has_left_in_order(code)
        if clean:
            event(logger, logging.INFO, "child.ended", pid=child.pid, exit=_exit_name(code))
        else:
            self._died(child, code)
        if not (self._stopping or child.replaced or (clean and code == Exit.DONE and self._options.drain)):
            self._plan_respawn(child, clean=clean)

    def _died(self, child: ChildProcess, code: int) -> None:
        """Rescue what a child held that ended without giving it back."""
        reason = f"its worker was killed by {_signal_name(-code)}" if code < 0 else f"its worker exited with {code}"
        event(
            logger, logging.INFO if child.expected else logging.ERROR, "child.died",
            pid=child.pid, incarnation=child.config.incarnation, exit=code, started=len(child.board.started()),
            signal=_signal_name(-code) if code < 0 else None,
        )  # fmt: skip
        self.totals.count("deaths")
        overdue = child.board.overdue(time.monotonic())
        # Where a run is to blame, the others were only its neighbours.
        started = [] if overdue else child.board.started()
        self._takeovers.add(Dead(incarnation=child.config.incarnation, started=started, overdue=overdue, reason=reason))

    def _replace(self, child: ChildProcess) -> None:
        """Start another child in the place of one that will end."""
        if not (child.replaced or self._stopping):
            child.replaced = True
            self._respawns.append(time.monotonic())

    def _plan_respawn(self, child: ChildProcess, *, clean: bool) -> None:
        # One that ran nothing before it was recycled would be recycled again: --max-rss is below its bare size.
        # One that was killed after it had ended a run is no sign that the next will do no better.
        counters = child.board.counters()
        idle = not any(counters[end] for end in ENDS)
        fruitless = idle and (not clean or (not child.expected and not counters["claimed"]))
        young = fruitless and time.monotonic() - child.started_at < YOUNG_SECONDS
        self._young_deaths = self._young_deaths + 1 if young else 0
        # One early death may be chance; from the second on, a growing delay.
        delay = min(MAX_RESPAWN_SECONDS, 0.25 * 2 ** min(self._young_deaths, 10)) if self._young_deaths > 1 else 0.0
        self._respawns.append(time.monotonic() + delay)

    def _respawn(self) -> None:
        now = time.monotonic()
        for due in [at for at in self._respawns if at <= now]:
            self._respawns.remove(due)
            self._spawn()

    def _watch(self) -> None:
        """Kill children that are stuck; restart them all when the code has changed."""
        limit = stuck_after(self._settings.lease_seconds)
        overdue = time.monotonic() > self._stop_by
        for child in self._children:
            if child.is_leaving:
                self._replace(child)
            outstays = self._outstays(child)
            if outstays:
                self._replace(child)
            if overdue or outstays or child.is_stuck(limit):
                # First the deed: the log may be what everybody waits for.
                child.process.kill()
                event(logger, logging.ERROR, "child.stuck", pid=child.pid, incarnation=child.config.incarnation)
        if self._files is not None and not self._stopping and (changed := self._files.changed()):
            event(logger, logging.INFO, "code.changed", file=changed)
            for child in self._children:
                if not child.expected:
                    child.signal(signal.SIGTERM)

    def _outstays(self, child: ChildProcess) -> bool:
        """Say whether a child has a run that should have ended, and cannot or does not end itself for it."""
        # Asked each time: it has to see the looks change.
        is_frozen = child.is_frozen(FROZEN_SECONDS)
        late = time.monotonic() - self._settings.timeout_grace_seconds
        patience = 0.0 if is_frozen else self._options.grace + OVERTIME_SECONDS
        return bool(child.board.overdue(late - patience))

    def _patience(self) -> float:
        waits = [WATCH_SECONDS, *(at - time.monotonic() for at in self._respawns)]
        # 0 would wait for ever.
        return max(0.001, min(waits))

    # -- the end --------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        """Finish the rescues and stop the companions."""
        for loop in [self._takeovers, *self._companions]:
            loop.stop()
        for loop in [self._takeovers, *self._companions]:
            if not loop.join(self._settings.lease_seconds):
                event(logger, logging.ERROR, "loop.unfinished", loop=loop.name)
        event(logger, logging.INFO, "worker.totals", **self.totals.counters())


def _exit_name(code: int) -> str:
    return _signal_name(-code) if code < 0 else Exit(code).name


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def once(options: WorkerOptions) -> WorkerOptions:
    """Return the options of a worker that runs at most one job and ends."""
    return replace(options, processes=1, concurrency=1, max_jobs=1, drain=True)
