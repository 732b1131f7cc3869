"""The pump of a worker process: writes the last outcomes, claims the next jobs, hands them to the executor."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, Final

from ..conf import ConveyorSettings
from ..db import Connection, DatabaseLoop
from ..log import event, get_logger
from ..notify import notify_now
from ..outcomes import Answer, Claimed
from . import decide
from .appetite import Appetite
from .board import Board, board_places
from .dependants import release_dependants
from .executor import Executor
from .finisher import Finisher, Turn
from .inbox import Inbox
from .inflight import Held, InFlight
from .limits import Limits
from .outbox import Outbox
from .plan import QueuePlan
from .quarantine import Quarantine
from .reconnect import Timeline, Trust, give_back_unknown
from .report import report
from .runs import Finished
from .runspan import settle_unheard
from .tally import Tally

logger = get_logger("worker.pump")

# How long a flush waits for neighbours that are about to finish.
GATHER_SECONDS: Final = 0.001
# No queue has this name.
ANY_QUEUE: Final = ""


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
        trust: Trust | None = None,
        tally: Tally | None = None,
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
        self._trust = trust or Trust()
        self._tally = tally
        self._finisher = Finisher(owner=owner, settings=settings)
        self._appetite = Appetite(poll=poll, window=settings.notify_window_seconds, now=time.monotonic())
        # Everything that may end the pump's wait comes through here; None is a bare wake-up.
        self._inbox: Inbox[Finished | str | None] = Inbox()
        self._outbox = Outbox()
        self._limits = Limits(alias=self._alias)
        self._quarantine = Quarantine()
        self._found_nothing = False
        self._claiming = threading.Event()
        self._claiming.set()
        self._timeline = Timeline(alias=self._alias)
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
        """Give back, free, what is held and has no outcome yet, save the runs that are being stopped."""
        for held in self._inflight.to_give_back():
            self.done(Finished(held, decide.given_back(held.claimed, reason)))

    # -- the loop -------------------------------------------------------------------------------------------

    def connected(self, connection: Connection) -> None:
        """Find out whether the history is still the same, and give back claims whose reply was lost."""
        self._trust.connected()
        self._timeline.check(connection)
        give_back_unknown(
            owner=self._owner, inflight=self._inflight, board=self._board, settings=self._settings, alias=self._alias,
            on=connection,
        )  # fmt: skip
        self._plan.discover(connection)

    def finished(self) -> bool:
        """Say whether all outcomes are written and no more are wanted."""
        if not self.stopping.is_set():
            return False
        self._sort()
        return not len(self._outbox)

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
        batch = self._outbox.due(now)
        limit = self._limit(now, len(batch))
        if not batch and not limit:
            self._attend_to_suspects()
            self._settle_idle()
            return
        queues = self._plan.turn() if limit else {}
        turn = self._finisher.turn(
            connection,
            [(finished.held.claimed, finished.outcome) for finished in batch],
            queues=queues,
            limit=limit,
            plain=self._limits.are_far(now),
        )
        # First what ended: it makes room for what was claimed.
        for finished in batch:
            self._settle(finished, turn.answers.get(finished.outcome.token, Answer.BUSY))
        self._take(turn, limit)
        self._go_on_from(turn, [f.held.claimed for f in batch if turn.has_ended(f.outcome.token)], connection)
        if turn.ready:
            notify_now(turn.ready, alias=self._alias, on=connection)
        if limit and not turn.claim.jobs:
            self._plan.discover(connection)
        self._attend_to_suspects()
        self._settle_idle()

    def _attend_to_suspects(self) -> None:
        """Run the next job that was lost before, if nothing else runs; give back the ones that wait in vain."""
        # A run whose lease has lapsed is no neighbour: it is being stopped, and may even be the suspect's own zombie.
        if (suspect := self._quarantine.next(self._inflight.running())) is not None:
            event(logger, logging.WARNING, "job.alone", job=suspect.claimed.id, lost_count=suspect.claimed.lost_count)
            self.executor.submit(suspect)
        for held in self._quarantine.impatient(time.monotonic()):
            self._outbox.add(Finished(held, decide.not_alone(held.claimed)))

    # -- waiting --------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Wait for an end, a wake-up or the time of the next look; then gather ends for a moment."""
        self._inbox.wait(self._patience())
        self._sort()
        until = time.monotonic() + GATHER_SECONDS
        while len(self._outbox) and (running := self._running()) > 0 and (left := until - time.monotonic()) > 0:
            self._inbox.wait(left, quorum=running)
            self._sort()

    def _sort(self) -> None:
        """Take the messages that there are: ends to the outbox, the rest to the appetite."""
        for message in self._inbox.take():
            if isinstance(message, Finished):
                # A run that was answered for already, as when it was given back, has no say any more.
                if self._inflight.get(message.held.token) is message.held:
                    self._outbox.add(message)
                else:
                    settle_unheard(message)
            elif message is not None and (message == ANY_QUEUE or self._plan.wants(message)):
                self._appetite.woken(time.monotonic())

    def _patience(self) -> float:
        """Return the seconds to wait at most."""
        now = time.monotonic()
        waits = [1.0]
        if self._may_claim() and self._room(0) > 0:
            waits.append(self._appetite.seconds(now))
        waits += [due for due in (self._outbox.seconds(now), self._quarantine.seconds(now)) if due is not None]
        return min(waits)

    def _running(self) -> int:
        return len(self._inflight) - len(self._quarantine) - len(self._outbox)

    # -- outcomes -------------------------------------------------------------------------------------------

    def _settle(self, finished: Finished, answer: Answer) -> None:
        """Act on the database's answer to one outcome."""
        if answer is Answer.BUSY:
            self._outbox.busy(finished, time.monotonic())
            return
        self._outbox.answered(finished)
        self._forget(finished.held)
        report(finished, answer, self._board)
        if self._tally is not None:
            self._tally.answered(finished, answer)
        if answer is not Answer.LOST:
            self.executor.announce(finished)

    def _go_on_from(self, turn: Turn, ended: list[Claimed], connection: Connection) -> None:
        """Give the places of caps to whose turn it is, see to what waited for these jobs, and look for both."""
        now = time.monotonic()
        if (seconds := self._limits.attend(turn, ended, connection, now)) is not None:
            self._appetite.again(now + seconds)
            self._found_nothing = False
        queues = release_dependants(ended, alias=self._alias, on=connection)
        turn.ready |= queues
        if [name for name in queues if self._plan.wants(name)]:
            self._appetite.woken(time.monotonic())
            self._found_nothing = False

    def _forget(self, held: Held) -> None:
        self._inflight.drop(held.token)
        self._quarantine.forget(held)
        if held.place is not None:
            self._board.clear(held.place)

    # -- claims ---------------------------------------------------------------------------------------------

    def _may_claim(self) -> bool:
        return self._claiming.is_set() and not self._quarantine.bars_claims and self._left != 0 and self._trust.is_given

    def _room(self, finishing: int) -> int:
        held = len(self._inflight)
        # What is about to finish may turn out to be busy, all of it: never hold more than the board has places.
        room = min(self._slots - held + finishing, board_places(self._slots) - held)
        return room if self._left is None else min(room, self._left)

    def _limit(self, now: float, finishing: int) -> int:
        """Return how many jobs to claim in this turn."""
        # A look that a cap cut short got less than there is: the end of a run is a reason for another.
        due = self._appetite.is_due(now) or (finishing > 0 and self._limits.are_near)
        if not self._may_claim() or not due:
            return 0
        return max(0, self._room(finishing))

    def _take(self, turn: Turn, limit: int) -> None:
        """Hold what was claimed and run it; jobs that were lost before wait until they can run alone."""
        # A worker that takes every queue may know of none yet: that is a look too.
        if not limit or not (turn.asked or self._plan.is_empty):
            return
        now = time.monotonic()
        claimed = turn.claim.jobs
        self._appetite.looked(now, asked=limit, got=len(claimed))
        self._found_nothing = not claimed
        self._plan.served({job.queue for job in claimed})
        if self._left is not None:
            self._left -= len(claimed)
        self._board.count("claimed", len(claimed))
        if self._tally is not None:
            self._tally.claimed(claimed)
        held = self._inflight.add(claimed, turn.sent_at)
        self.executor.submit(*[job for job in held if not self._quarantine.admits(job, now)])

    def _settle_idle(self) -> None:
        """Tell the child when there is no reason to go on: queues drained, or its number of jobs has run."""
        if len(self._inflight):
            return
        if self._left == 0 or (self._drain and self._found_nothing):
            self._claiming.clear()
            self._on_idle()
