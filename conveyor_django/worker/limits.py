"""After a turn: what caps kept from being claimed, and the keys whose turn it is now."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from typing import Final

import psycopg

from ..db import Connection, is_transient
from ..log import event, get_logger
from ..managers.limits import Key, LimitStatements
from ..models import Job
from ..outcomes import Claimed
from ..retry import exponential_delay
from .finisher import Turn

logger = get_logger("worker.limits")

# How long a worker asks with the whole claim once a plain one has met a cap, a key or a pause.
CAREFUL_SECONDS: Final = 1.0
# Looks in vain that may follow one another at once: somebody else's claim, in flight, has the permit locked.
PATIENCE: Final = 2
MAX_DELAY_SECONDS: Final = 0.2


class Limits:
    """What one worker process does about caps; on instants that it is given (monotonic seconds)."""

    def __init__(self, *, alias: str) -> None:
        self._alias = alias
        self._careful_until = -math.inf
        self._in_vain = 0
        # Whether the last plain claim met a cap, a key or a paused task: then the end of a run may make room.
        self.are_near = False

    def are_far(self, now: float) -> bool:
        """Say whether a plain claim may do: none has met a cap, a key or a paused task of late."""
        return now >= self._careful_until

    def attend(self, turn: Turn, ended: Iterable[Claimed], connection: Connection, now: float) -> float | None:
        """Make the permits that a claim missed, and put the next jobs of its parked and of `ended` keys back in line.

        To be called after the turn's commit: who ends a run then sees what was parked because of it, and who parks
        sees what has ended meanwhile. Returns the seconds after which to look again, None where there is no reason;
        names in `turn.ready` the queues in which somebody should. Transient errors pass through; after any other
        the scheduler's sweep does it.
        """
        claim = turn.claim
        if turn.plain:
            self.are_near = claim.capped
        if claim.capped:
            self._careful_until = now + CAREFUL_SECONDS
        parked = {(queue, key) for queue, key in claim.parked if key is not None}
        over = {(job.queue, job.concurrency_key) for job in ended if job.concurrency_key is not None}
        unparked = self._write(claim.unprovided, sorted(parked | over), connection)
        turn.ready |= unparked
        if not (unparked or claim.capped or claim.parked or claim.unprovided):
            return None
        round_in_circles = not claim.jobs and (claim.unprovided or (parked and unparked))
        self._in_vain = self._in_vain + 1 if round_in_circles else 0
        if self._in_vain <= PATIENCE:
            return 0.0
        return exponential_delay(self._in_vain - PATIENCE, base=0.002, cap=MAX_DELAY_SECONDS)

    def _write(self, missing: list[tuple[str, str, int]], keys: list[Key], on: Connection) -> set[str]:
        """Run the statements that there is reason for; return the queues where jobs are back in line."""
        if not (missing or keys):
            return set()
        statements: LimitStatements = Job.objects.db_manager(self._alias)
        try:
            if missing:
                statements.make_permits(missing, on=on)
            return set(statements.unpark_jobs(keys, on=on).values()) if keys else set()
        except psycopg.Error as error:
            if is_transient(error) or on.closed:
                raise
            event(
                logger, logging.ERROR, "limits.failed", keys=len(keys), error=str(error).strip(), exc_info=error,
            )  # fmt: skip
            return set()
