"""Sweep: dependants whose release was late, and workflows that nobody has finished."""

from __future__ import annotations

import logging

from ..db import Connection
from ..log import event, get_logger
from ..managers.release import sweep_once
from ..notify import notify_now
from .duty import Duty, Look

logger = get_logger("scheduler")


class Sweep(Duty):
    """Release what the end of a job could not release, finish what has ended, and wake the queues (rule 10)."""

    name = "sweep"

    def look_once(self, connection: Connection) -> Look:
        """Make one pass; a release may make the next one possible, so look again until nothing changes."""
        swept = sweep_once(alias=self.alias, now=self.now(), on=connection)
        if swept.queues:
            notify_now(swept.queues, alias=self.alias, on=connection)
        if swept.changed:
            event(logger, logging.INFO, "workflows.swept", changed=swept.changed, queues=",".join(sorted(swept.queues)))
        return Look(changed=swept.changed, more=swept.changed > 0)
