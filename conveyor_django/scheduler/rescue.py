"""Rescue: running jobs whose lease has lapsed are taken back."""

from __future__ import annotations

from ..db import Connection
from ..managers.recovery import log_rescued, queues_to_wake
from ..notify import notify_now
from .duty import BATCH, Duty, Look


class Rescue(Duty):
    """Take back jobs whose worker did not renew in time, whatever became of it."""

    name = "rescue"

    def look_once(self, connection: Connection) -> Look:
        """Rescue up to a batch of jobs and wake the queues where they are ready again."""
        rescued = self.jobs().rescue_jobs(limit=BATCH, max_lost=self.settings.max_lost, now=self.now(), on=connection)
        log_rescued(rescued, reason="the lease lapsed")
        if queues := queues_to_wake(rescued):
            notify_now(queues, alias=self.alias, on=connection)
        return Look(changed=len(rescued), more=len(rescued) == BATCH)
