"""A supervisor's rescue of its own dead children: at once, knowing what had started."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import deque
from dataclasses import dataclass
from typing import Any

from ..conf import ConveyorSettings
from ..db import Connection, DatabaseLoop
from ..log import event, get_logger
from ..managers.recovery import queues_to_wake, take_over
from ..notify import notify_now
from ..outcomes import Token
from . import decide
from .board import Limit
from .totals import Totals

logger = get_logger("worker.takeover")


# Between two looks at whether the dead child's sessions are gone.
AGAIN_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead:
    """A child that ended without giving back what it held."""

    incarnation: uuid.UUID
    # The runs that count as lost.
    started: list[Token]
    # The runs that had to end and did not, which the process was ended for, or took with it.
    overdue: dict[Token, Limit]
    reason: str


class Takeovers(DatabaseLoop):
    """Rescues what dead children held: repeatedly, until the last of their sessions is gone."""

    name = "takeover"

    def __init__(self, *, settings: ConveyorSettings, totals: Totals, **options: Any) -> None:
        super().__init__(**options)
        self._settings = settings
        self._totals = totals
        self._todo: deque[Dead] = deque()
        self._bell = threading.Event()

    def add(self, dead: Dead) -> None:
        """Rescue what this child held."""
        self._todo.append(dead)
        self._bell.set()

    def wake(self) -> None:
        """End the wait."""
        self._bell.set()

    def finished(self) -> bool:
        """Say whether there is nothing left to rescue, and no more to come."""
        return self.stopping.is_set() and not self._todo

    def work(self, connection: Connection) -> None:
        """Rescue one dead child after the other."""
        while not self.finished():
            self._bell.wait()
            self._bell.clear()
            while self._todo:
                self._rescue(self._todo[0], connection)
                # Only now: an outage in between leaves it to be done again.
                self._todo.popleft()
            self.healthy()

    def _rescue(self, dead: Dead, connection: Connection) -> None:
        while True:
            taken = take_over(
                alias=self._alias,
                incarnation=dead.incarnation,
                settings=self._settings,
                reason=dead.reason,
                started=dead.started,
                ended=[decide.killed(token, limit) for token, limit in dead.overdue.items()],
                on=connection,
            )
            self._totals.count("rescued", len(taken.rescued))
            self._totals.count("killed", len(taken.ended))
            notify_now(queues_to_wake(taken.rescued) | taken.ready, alias=self._alias, on=connection)
            if taken.done:
                event(logger, logging.INFO, "takeover.done", incarnation=dead.incarnation)
                return
            # A session that was just told to end may have a commit on its way, or somebody has a row locked.
            time.sleep(AGAIN_SECONDS)
