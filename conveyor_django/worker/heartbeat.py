"""The heartbeat of a worker process: renews its leases and says that it lives, on a connection of its own."""

from __future__ import annotations

import logging
import math
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from ..db import Connection, DatabaseLoop, is_pooled
from ..log import event, get_logger
from ..models import Job, Worker
from ..outcomes import Answer
from .board import Board
from .config import stuck_after
from .inflight import Held, InFlight
from .plan import QueuePlan

logger = get_logger("worker.heartbeat")

# Renewed at a third of the lease: two beats may fail before it lapses.
BEATS_PER_LEASE = 3


class Heartbeat(DatabaseLoop):
    """Registers the process, then beats until stopped; it outlives the drain and stops last but one.

    `on_pruned` is called when the worker's row is gone: somebody declared it dead; `on_drain` when somebody has asked
    it to drain; `on_cancelled` with a held job that was cancelled before it had started; `on_beat` after each beat that
    the database took.
    """

    name = "heartbeat"

    def __init__(
        self,
        *,
        owner: uuid.UUID,
        slots: int,
        supervisor_pid: int,
        plan: QueuePlan,
        inflight: InFlight,
        board: Board,
        on_pruned: Callable[[], None],
        on_drain: Callable[[], None],
        on_cancelled: Callable[[Held], None],
        on_beat: Callable[[], object] = bool,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.registered = threading.Event()
        self.draining = False
        self._owner = owner
        self._slots = slots
        self._supervisor_pid = supervisor_pid
        self._plan = plan
        self._inflight = inflight
        self._board = board
        self._on_pruned = on_pruned
        self._on_drain = on_drain
        self._on_cancelled = on_cancelled
        self._on_beat = on_beat
        self._pooled = False
        self._locked = False
        self._bell = threading.Event()
        self._pulse, self._pulsed_at = -1, time.monotonic()
        # When the last beat was sent that the database took (monotonic).
        self._alive_at = -math.inf

    @property
    def is_fresh(self) -> bool:
        """Whether others still believe that this process lives: one that was frozen for a lease has to ask first."""
        return time.monotonic() - self._alive_at < self._plan.longest_lease

    def is_fresh_since(self, moment: float) -> bool:
        """Say whether it is fresh by a beat that was sent after that moment (monotonic)."""
        return self._alive_at >= moment and self.is_fresh

    def wake(self) -> None:
        """Beat now."""
        self._bell.set()

    def connected(self, connection: Connection) -> None:
        """Hold the session lock that says "alive", and register with the first connection."""
        self._pooled = is_pooled(connection)
        self._locked = False
        self._hold_lock(connection)
        if not self.registered.is_set():
            self._plan.refresh_leases(connection)
            self._register(connection)

    def work(self, connection: Connection) -> None:
        """Beat at a third of the shortest lease, until stopped; then deregister."""
        while not self.stopping.is_set():
            # A process that lives but no longer fetches must not look alive: its leases are left to lapse.
            if not self._standstill():
                self._beat(connection)
            self.healthy()
            self._bell.wait(self._plan.shortest_lease / BEATS_PER_LEASE)
            self._bell.clear()
        Worker.objects.db_manager(self._alias).deregister_worker(incarnation=self._owner, on=connection)

    def _standstill(self) -> bool:
        """Say whether the pump has done nothing for too long."""
        pulse, now = self._board.counters()["pulse"], time.monotonic()
        if pulse != self._pulse:
            self._pulse, self._pulsed_at = pulse, now
        return now - self._pulsed_at > stuck_after(self._lease_seconds)

    def _register(self, connection: Connection) -> None:
        workers = Worker.objects.db_manager(self._alias)
        # The reply to an earlier try may have been lost after its commit.
        if not self._say_alive(connection):
            workers.register_worker(
                incarnation=self._owner,
                host=socket.gethostname(),
                pid=os.getpid(),
                supervisor_pid=self._supervisor_pid,
                queues=list(self._plan.turn()),
                slots=self._slots,
                lease_seconds=self._plan.longest_lease,
                holds_lock=self._locked,
                on=connection,
            )
            self._alive_at = time.monotonic()
        self.registered.set()

    def _hold_lock(self, connection: Connection) -> None:
        """Take the session lock, unless a pooler would keep it when we are gone.

        After a broken connection the server may still hold it for the old session: then the next beat tries again.
        """
        if not self._pooled and not self._locked:
            workers = Worker.objects.db_manager(self._alias)
            self._locked = workers.hold_worker_lock(incarnation=self._owner, on=connection)

    def _say_alive(self, connection: Connection) -> bool:
        sent_at = time.monotonic()
        beat = Worker.objects.db_manager(self._alias).beat_worker(
            incarnation=self._owner, draining=self.draining, holds_lock=self._locked, on=connection
        )
        self._alive_at = sent_at if beat else -math.inf
        if beat is not None:
            self._board.say_beaten()
            self._on_beat()
            if beat.drain_requested and not self.draining:
                self._on_drain()
        return beat is not None

    def _beat(self, connection: Connection) -> None:
        self._hold_lock(connection)
        self._renew(connection)
        if not self._say_alive(connection):
            event(logger, logging.ERROR, "worker.pruned", incarnation=self._owner)
            self._on_pruned()
        self._plan.refresh_leases(connection)

    def _renew(self, connection: Connection) -> None:
        """Renew what is held, by token; a lease found lost, or a job found cancelled, stops its handler."""
        leases = self._inflight.leases()
        if not leases:
            return
        sent_at = time.monotonic()
        answers = Job.objects.db_manager(self._alias).renew_leases(leases, owner=self._owner, on=connection)
        self._inflight.renewed([t for t, (answer, _) in answers.items() if answer is Answer.WON], sent_at)
        for token, (answer, is_cancelled) in answers.items():
            held = self._inflight.get(token)
            # Where the handler has ended by itself, its outcome's own answer counts.
            if held is None or held.over:
                continue
            if answer is Answer.LOST:
                self.lose(held)
            elif is_cancelled and not held.cancelled:
                self._cancel(held)

    def lose(self, held: Held) -> None:
        """Give up a lease: stop the handler, count it."""
        if not self._inflight.lapse(held):
            return
        self._board.count("lost")
        event(
            logger, logging.WARNING, "lease.lost",
            job=held.claimed.id, version=held.claimed.version, task=held.claimed.task,
        )  # fmt: skip
        held.stop()

    def _cancel(self, held: Held) -> None:
        """Stop the handler of a job that somebody cancelled; one that only waits is not run at all."""
        event(
            logger, logging.INFO, "job.cancelling",
            job=held.claimed.id, version=held.claimed.version, task=held.claimed.task,
        )  # fmt: skip
        if held.cancel():
            self._on_cancelled(held)
        else:
            held.stop()
