"""Runs that must end: whose time is over, whose job was cancelled, whose lease is gone; and those that would not."""

from __future__ import annotations

import logging
import time
from functools import partial

from ..log import event, get_logger
from ..outcomes import Token
from ..states import Verb
from .board import Board, Limit
from .inflight import Held, InFlight

logger = get_logger("worker.deadlines")


class Deadlines:
    """Looks after the runs of one worker process; one thread calls it, often.

    `grace` is how long an interrupted handler may take to end, in seconds.
    """

    def __init__(self, *, inflight: InFlight, board: Board, grace: float) -> None:
        self._inflight = inflight
        self._board = board
        self._grace = grace
        self._told: set[Token] = set()

    def look(self) -> list[Held]:
        """Interrupt what has run for too long; return the runs that only the end of the process will end."""
        now = time.monotonic()
        running = [held for held in self._inflight.all() if not held.ended and not held.resting]
        for held in running:
            if held.expire(now):
                self._say(held, "handler.overdue", logging.WARNING)
                held.stop()
            if held.cancelled:
                held.unless_ended(partial(self._mark_cancelled, held))
        stubborn = [held for held in running if self._is_stubborn(held, now)]
        for held in stubborn:
            if held.token not in self._told:
                self._told.add(held.token)
                self._say(held, "handler.unstoppable", logging.ERROR)
        return stubborn

    def _mark_cancelled(self, held: Held) -> None:
        """Let the supervisor know, should the process die before the handler ends."""
        if held.place is not None and held.stopping_since is not None:
            self._board.limit(held.place, Limit(due_at=held.stopping_since, verb=Verb.CANCEL))

    def _is_stubborn(self, held: Held, now: float) -> bool:
        if held.stopping_since is not None:
            return now - held.stopping_since > self._grace
        return held.lapsed_at is not None and now - held.lapsed_at > held.claimed.lease_seconds

    def _say(self, held: Held, name: str, level: int) -> None:
        event(
            logger, level, name,
            job=held.claimed.id, version=held.claimed.version, task=held.claimed.task, timeout=held.timeout,
        )  # fmt: skip
