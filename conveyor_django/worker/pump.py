"""The pump of a worker process: writes the last outcomes, claims the next jobs, hands them to the executor."""

from __future__ import annotations

import logging
import queue
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from ..conf import ConveyorSettings
from ..db import Connection, DatabaseLoop
from ..log import event, get_logger
from ..models import Job
from ..notify import notify_now
from ..outcomes import Answer, Claimed
from ..retry import exponential_delay
from ..sql import statement
from . import decide
from .appetite import Appetite
from .board import Board
from .executor import Executor
from .finisher import Finisher, Turn
from .handler import Finished
from .inflight import Held, InFlight
from .plan import QueuePlan

logger = get_logger("worker.pump")

Token = tuple[int, int]

# How long a flush waits for neighbours that are about to finish.
GATHER_SECONDS: Final = 0.001
# At most so many outcomes go into one flush.
BATCH: Final = 500
# No queue has this name.
ANY_QUEUE: Final = ""

_COUNTED = {
    "succeed": "succeeded", "retry": "retried", "snooze": "snoozed", "fail": "failed", "cancel": "cancelled",
    "release": "released",
}  # fmt: skip


class FailoverDetected(Exception):
    """The database's timeline changed: commits may be lost, and with them what this incarnation believes."""


class Pump(DatabaseLoop):
    """Claims and finishes; the only thread of a worker process that writes its jobs' rows."""

    name = "pump"

    def __init__(
        self,
        *,
        owner: uuid.UUID,
        slots: int,
        poll: float,
        plan: QueuePlan,
        inflight: InFlight,
        board: Board,
        settings: ConveyorSettings,
        max_jobs: int | None,
        drain: bool,
        on_idle: Callable[[], None],
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._owner = owner
        self._slots = slots
        self._plan = plan
        self._inflight = inflight
        self._board = board
        self._settings = settings
        self._left = max_jobs
        self._drain = drain
        self._on_idle = on_idle
        self._finisher = Finisher(owner=owner, settings=settings)
        self._appetite = Appetite(poll=poll, window=settings.notify_window_seconds, now=time.monotonic())
        # Everything that may end the pump's wait comes through here; None is a bare wake-up.
        self._inbox: queue.SimpleQueue[Finished | str | None] = queue.SimpleQueue()
        self._pending: dict[Token, Finished] = {}
        # Row locked by somebody else: (tries, not before).
        self._busy: dict[Token, tuple[int, float]] = {}
        # Jobs that were lost before: each runs without neighbours (rule 5).
        self._suspects: deque[Held] = deque()
        self._alone: Held | None = None
        self._claiming = threading.Event()
        self._claiming.set()
        self._timeline: str | None = None
        self.executor: Executor

    # -- from other threads ---------------------------------------------------------------------------------

    def done(self, finished: Finished) -> None:
        """Take the end of a run."""
        self._inbox.put(finished)

    def wake(self) -> None:
        """End the wait."""
        self._inbox.put(None)

    def ring(self, queue_name: str) -> None:
        """Look for jobs: somebody says that a queue has some."""
        self._inbox.put(queue_name)

    def doubt(self) -> None:
        """Look for jobs: notifications may have been missed."""
        self._inbox.put(ANY_QUEUE)

    def quit_claiming(self) -> None:
        """Claim nothing more; what is held goes on."""
        self._claiming.clear()
        self.wake()

    def give_back(self, reason: str) -> None:
        """Give back, free, all that is held and has no outcome yet."""
        for held in self._inflight.all():
            self.done(Finished(held, decide.given_back(held.claimed, reason)))

    # -- the loop -------------------------------------------------------------------------------------------

    def connected(self, connection: Connection) -> None:
        """Find out whether the history is still the same, and give back claims whose reply was lost."""
        self._check_timeline(connection)
        jobs = Job.objects.db_manager(self._alias)
        for job_id, queue_name, state in jobs.release_unknown(
            owner=self._owner,
            known=self._inflight.tokens(),
            max_releases=self._settings.max_releases,
            on=connection,
        ):
            event(logger, logging.WARNING, "job.released", job=job_id, queue=queue_name, state=state,
                  reason="the reply to the claim was lost")  # fmt: skip
            self._board.count("released")
            notify_now([queue_name], alias=self._alias, on=connection)
        self._plan.discover(connection)

    def finished(self) -> bool:
        """Say whether all outcomes are written and no more are wanted."""
        return self.stopping.is_set() and not self._pending and self._inbox.empty()

    def work(self, connection: Connection) -> None:
        """Turn after turn, until stopped and all outcomes are written."""
        while not self.finished():
            self._wait()
            self._turn(connection)
            self.healthy()

    def trying(self) -> None:
        """Show the supervisor that the pump lives while it waits for the database."""
        self._board.count("pulse")

    def _turn(self, connection: Connection) -> None:
        self._board.count("pulse")
        now = time.monotonic()
        batch = self._due(now)
        limit = self._limit(now, len(batch))
        if not batch and not limit:
            self._settle_idle()
            return
        queues = self._plan.turn() if limit else {}
        turn = self._finisher.turn(
            connection,
            [(finished.held.claimed, finished.outcome) for finished in batch],
            queues=queues,
            limit=limit,
        )
        # First what ended: it makes room for what was claimed.
        for finished in batch:
            self._settle(finished, turn.answers.get(finished.outcome.token, Answer.BUSY))
        if limit and not queues:
            self._appetite.looked(time.monotonic(), asked=limit, got=0)
        self._take(turn)
        if turn.ready:
            notify_now(turn.ready, alias=self._alias, on=connection)
        if limit and not turn.claimed:
            self._plan.discover(connection)
        self._run_suspects()
        self._settle_idle()

    # -- waiting --------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Wait for an end, a wake-up or the time of the next look; then gather ends for a moment."""
        if not self._pick(self._patience()):
            return
        while self._pick(0.0):
            pass
        until = time.monotonic() + GATHER_SECONDS
        while self._has_running() and self._pending and (left := until - time.monotonic()) > 0:
            if not self._pick(left):
                return

    def _pick(self, timeout: float) -> bool:
        """Take one message; say whether there was one."""
        try:
            message = self._inbox.get(timeout > 0, timeout or None)
        except queue.Empty:
            return False
        if isinstance(message, Finished):
            # One that was given back meanwhile, or answered, has no say any more.
            token = message.held.token
            if self._inflight.get(token) is message.held and token not in self._pending:
                self._pending[token] = message
        elif message is not None and (message == ANY_QUEUE or self._plan.wants(message)):
            self._appetite.woken(time.monotonic())
        return True

    def _patience(self) -> float:
        """Return the seconds to wait at most."""
        now = time.monotonic()
        waits = [1.0]
        if self._may_claim() and self._room(0) > 0:
            waits.append(self._appetite.seconds(now))
        waits += [max(0.0, not_before - now) for _, not_before in self._busy.values()]
        if len(self._pending) > len(self._busy):
            waits.append(0.0)
        return min(waits)

    def _has_running(self) -> bool:
        return len(self._inflight) - len(self._suspects) > len(self._pending)

    # -- outcomes -------------------------------------------------------------------------------------------

    def _due(self, now: float) -> list[Finished]:
        """Return the outcomes to write now, in id order."""
        due = [f for t, f in self._pending.items() if t not in self._busy or self._busy[t][1] <= now]
        return sorted(due[:BATCH], key=lambda finished: finished.outcome.id)

    def _settle(self, finished: Finished, answer: Answer) -> None:
        """Act on the database's answer to one outcome."""
        token = finished.outcome.token
        if answer is Answer.BUSY:
            tries = self._busy.get(token, (0, 0.0))[0] + 1
            self._busy[token] = (tries, time.monotonic() + exponential_delay(tries, base=0.002, cap=0.2))
            return
        self._busy.pop(token, None)
        del self._pending[token]
        self._forget(finished.held)
        if answer is Answer.LOST:
            self._board.count("refused")
            self._log(logging.WARNING, "outcome.refused", finished)
            return
        self._board.count(_COUNTED[finished.outcome.verb])
        self._log_outcome(finished)
        self.executor.announce(finished)

    def _forget(self, held: Held) -> None:
        self._inflight.drop(held.token)
        if held.place is not None:
            self._board.clear(held.place)
        if self._alone is held:
            self._alone = None
        if held in self._suspects:
            self._suspects.remove(held)

    # -- claims ---------------------------------------------------------------------------------------------

    def _may_claim(self) -> bool:
        return self._claiming.is_set() and not self._suspects and self._alone is None and self._left != 0

    def _room(self, finishing: int) -> int:
        room = self._slots - len(self._inflight) + finishing
        return room if self._left is None else min(room, self._left)

    def _limit(self, now: float, finishing: int) -> int:
        """Return how many jobs to claim in this turn."""
        if not self._may_claim() or not self._appetite.is_due(now):
            return 0
        return max(0, self._room(finishing))

    def _take(self, turn: Turn) -> None:
        """Hold what was claimed and run it; jobs that were lost before wait until they can run alone."""
        if not turn.asked:
            return
        self._appetite.looked(time.monotonic(), asked=turn.asked, got=len(turn.claimed))
        self._found_nothing = not turn.claimed
        if self._left is not None:
            self._left -= len(turn.claimed)
        self._board.count("claimed", len(turn.claimed))
        for held in self._inflight.add(turn.claimed, turn.sent_at):
            if held.claimed.lost_count:
                self._suspects.append(held)
            else:
                self.executor.submit(held)

    def _run_suspects(self) -> None:
        """Run the next job that was lost before, once nothing else runs."""
        if self._suspects and len(self._inflight) == len(self._suspects):
            self._alone = self._suspects.popleft()
            self.executor.submit(self._alone)

    _found_nothing = False

    def _settle_idle(self) -> None:
        """Tell the child when there is no reason to go on: queues drained, or its number of jobs has run."""
        if len(self._inflight):
            return
        if self._left == 0 or (self._drain and self._found_nothing):
            self._claiming.clear()
            self._on_idle()

    # -- what it says ---------------------------------------------------------------------------------------

    def _log_outcome(self, finished: Finished) -> None:
        verb = finished.outcome.verb
        level = {"succeed": logging.DEBUG, "fail": logging.ERROR}.get(verb, logging.WARNING)
        self._log(level, f"job.{_COUNTED[verb]}", finished)

    def _log(self, level: int, name: str, finished: Finished) -> None:
        if not logger.isEnabledFor(level):
            return
        claimed: Claimed = finished.held.claimed
        error = getattr(finished.outcome, "error", None)
        event(
            logger, level, name,
            job=claimed.id, version=claimed.version, task=claimed.task, queue=claimed.queue,
            attempt=claimed.attempt, verb=finished.outcome.verb.value,
            **({"error": f"{error.error_class}: {error.message}"[:500]} if error else {}),
        )  # fmt: skip

    def _check_timeline(self, connection: Connection) -> None:
        """Raise FailoverDetected if the server's history is another than at the first connection."""
        row = connection.execute(statement("server_timeline")).fetchone()
        timeline = row[0] if row else None
        if self._timeline not in (None, timeline):
            raise FailoverDetected(f"timeline {self._timeline} became {timeline}")
        self._timeline = timeline
