"""Prune: ended jobs go when their retention is over."""

from __future__ import annotations

import logging

from ..db import Connection
from ..log import event, get_logger
from .duty import BATCH, Duty, Look

logger = get_logger("scheduler")


class Prune(Duty):
    """Delete ended jobs past their retention, with their payload, ledger and attempts."""

    name = "prune"
    at_least = 60.0

    def look_once(self, connection: Connection) -> Look:
        """Delete up to a batch of jobs."""
        pruned = self.jobs().prune_jobs(
            limit=BATCH,
            retention=self.settings.retention_seconds,
            failed_retention=self.settings.failed_retention_seconds,
            now=self.now(),
            on=connection,
        )
        if pruned:
            event(logger, logging.INFO, "jobs.pruned", jobs=pruned)
        return Look(changed=pruned, more=pruned == BATCH)
