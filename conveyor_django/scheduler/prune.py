"""Prune: ended jobs go when their retention is over."""

from __future__ import annotations

import logging
from typing import Any, Final

from ..db import Connection
from ..log import event, get_logger
from ..models import Workflow
from .duty import BATCH, Duty, Look

logger = get_logger("scheduler")

# Keys come and go; the places of one that is in use are not made anew all the time.
PERMIT_IDLE_SECONDS: Final = 3600.0


class Prune(Duty):
    """Delete ended jobs past their retention, with what belongs to them, workflows without jobs, and idle permits."""

    name = "prune"
    at_least = 60.0

    def look_once(self, connection: Connection) -> Look:
        """Delete up to a batch of jobs, of workflows and of permits."""
        limits: dict[str, Any] = {
            "limit": BATCH, "retention": self.settings.retention_seconds,
            "failed_retention": self.settings.failed_retention_seconds, "now": self.now(), "on": connection,
        }  # fmt: skip
        pruned = self.jobs().prune_jobs(**limits)
        if pruned:
            event(logger, logging.INFO, "jobs.pruned", jobs=pruned)
        workflows = Workflow.objects.db_manager(self.alias).prune_workflows(**limits)
        if workflows:
            event(logger, logging.INFO, "workflows.pruned", workflows=workflows)
        permits = self.jobs().prune_permits(limit=BATCH, idle=PERMIT_IDLE_SECONDS, now=self.now(), on=connection)
        return Look(changed=pruned + workflows + permits, more=BATCH in {pruned, workflows, permits})
