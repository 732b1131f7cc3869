"""Promote: scheduled jobs that are due become ready."""

from __future__ import annotations

import logging

from ..db import Connection
from ..log import event, get_logger
from ..notify import notify_now
from .duty import BATCH, Duty, Look

logger = get_logger("scheduler")


class Promote(Duty):
    """Make due jobs ready and wake their queues."""

    name = "promote"

    def look_once(self, connection: Connection) -> Look:
        """Promote up to a batch of due jobs; the next look is due when the next job is."""
        promoted = self.jobs().promote_jobs(limit=BATCH, now=self.now(), on=connection)
        changed = sum(promoted.values())
        if promoted:
            notify_now(promoted, alias=self.alias, on=connection)
            event(logger, logging.DEBUG, "jobs.promoted", jobs=changed, queues=",".join(promoted))
        if changed == BATCH:
            return Look(changed=changed, more=True)
        return Look(changed=changed, wait=self._until_next(connection))

    def _until_next(self, connection: Connection) -> float | None:
        seconds = self.jobs().next_due(now=self.now(), on=connection)
        # Long overdue and not promoted: somebody holds its row, so there is nothing to hurry for.
        if seconds is None or seconds < -self.settings.scheduler_seconds:
            return None
        return max(seconds, 0.0)
