"""The scheduler's loop: every duty in its turn, on one connection of its own."""

from __future__ import annotations

import logging
import os
import random
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from ..conf import ConveyorSettings
from ..db import Connection, DatabaseLoop, is_transient, is_usable
from ..log import event, get_logger
from ..loops import OnError
from .dead_workers import DeadWorkers
from .duty import Duty, Look, Now, database_clock
from .pace import Pace
from .promote import Promote
from .prune import Prune
from .rescue import Rescue
from .sweep import Sweep
from .ticks import Ticks
from .unpark import Unpark

logger = get_logger("scheduler")

DUTIES: Final[tuple[type[Duty], ...]] = (Promote, Ticks, Rescue, DeadWorkers, Sweep, Unpark, Prune)

# How the application_name of a scheduler's session begins.
SCHEDULER_NAME: Final = "conveyor scheduler"
# PostgreSQL cuts an application_name here (NAMEDATALEN − 1).
MAX_APPLICATION_NAME: Final = 63

_random = random.Random()  # noqa: S311 - jitter, not a secret


def scheduler_name(host: str | None = None, pid: int | None = None) -> str:
    """Return the application_name of a scheduler's session: ``conveyor scheduler HOST PID``, in 63 bytes."""
    tail = f" {os.getpid() if pid is None else pid}"
    head = f"{SCHEDULER_NAME} {socket.gethostname() if host is None else host}"
    # PostgreSQL keeps ASCII alone in this name.
    ascii_head = head.encode("ascii", "replace").decode("ascii")
    return ascii_head[: MAX_APPLICATION_NAME - len(tail)] + tail


@dataclass(slots=True)
class Turn:
    """A duty, when it is due, and what its last look came to."""

    duty: Duty
    pace: Pace
    look: Look = field(default_factory=Look)


class SchedulerLoop(DatabaseLoop):
    """Promote, rescue, take over dead workers, prune, until stopped; as many at once as you like.

    `once` ends after one look of every duty, repeated while its batches are full. `errors` counts the looks
    of each duty that failed. A database without Conveyor's tables ends the loop (UndefinedTable).
    """

    name = "scheduler"

    def __init__(
        self,
        *,
        alias: str,
        settings: ConveyorSettings,
        on_error: OnError,
        now: Now = database_clock,
        once: bool = False,
    ) -> None:
        super().__init__(
            alias=alias,
            application_name=scheduler_name(),
            lease_seconds=settings.lease_seconds,
            on_error=on_error,
        )
        self.errors: Counter[str] = Counter()
        self._settings = settings
        self._now = now
        self._once = once
        self._woken = threading.Event()
        self._connections = 0
        # Who has the first turn on the next connection: its place in DUTIES.
        self._first = 0

    def wake(self) -> None:
        """Look now, as far as the duties' pace allows."""
        self._woken.set()

    def connected(self, connection: Connection) -> None:
        """See that the tables are there."""
        self._connections += 1
        connection.execute("SELECT FROM conveyor_job, conveyor_worker LIMIT 0")
        event(logger, logging.INFO, "scheduler.connected", database=self._alias)

    def work(self, connection: Connection) -> None:
        """Give each duty its turn when it is due, and wait in between."""
        turns = [self._turn(duty) for duty in (*DUTIES[self._first :], *DUTIES[: self._first])]
        while not self.stopping.is_set():
            self._look_round(turns, connection)
            self.healthy()
            if self._once and not any(turn.look.more for turn in turns):
                self.stop()
            self._wait(turns)

    def _look_round(self, turns: list[Turn], connection: Connection) -> None:
        """Give one look to every duty that is due.

        An error of one doesn't stop the others; if a new connection may cure it, it is raised at the end.
        """
        transient: BaseException | None = None
        for turn in turns:
            if self.stopping.is_set():
                return
            if turn.pace.is_due():
                transient = self._look(turn, connection) or transient
        if transient is not None:
            raise transient

    def _look(self, turn: Turn, connection: Connection) -> BaseException | None:
        """Look once; return the error if it is transient, raise it if the connection is of no more use.

        Then the next connection begins with the duty behind: one that breaks every connection starves no other.
        """
        began = time.monotonic()
        failure: BaseException | None = None
        turn.look = Look()
        try:
            turn.look = turn.duty.look_once(connection)
        except Exception as error:
            if not is_usable(connection):
                self._first = (DUTIES.index(type(turn.duty)) + 1) % len(DUTIES)
                raise
            failure = self._failed(turn.duty, error)
        turn.pace.looked(turn.look, began=began, usual=self._interval())
        return failure

    def _failed(self, duty: Duty, error: Exception) -> BaseException | None:
        self.errors[duty.name] += 1
        if is_transient(error):
            return error
        event(
            logger, logging.ERROR, "scheduler.error",
            duty=duty.name, errors=self.errors[duty.name], error=type(error).__name__, exc_info=error,
        )  # fmt: skip
        return None

    def _wait(self, turns: list[Turn]) -> None:
        if self._woken.wait(min(turn.pace.remaining() for turn in turns)):
            self._woken.clear()
            for turn in turns:
                turn.pace.hurry()

    def _turn(self, duty: type[Duty]) -> Turn:
        made = duty(
            alias=self._alias, settings=self._settings, now=self._now, after_outage=self._connections > 1
        )  # fmt: skip
        return Turn(made, Pace(at_least=made.at_least))

    def _interval(self) -> float:
        # Never longer than the setting says; shorter by chance, so that many schedulers spread out.
        return _random.uniform(0.75, 1.0) * self._settings.scheduler_seconds
