"""Unpark: the sweep behind the workers, which put parked jobs back in line as soon as they may run."""

from __future__ import annotations

import logging
from typing import Any

from ..db import Connection
from ..log import event, get_logger
from ..managers.limits import Key
from ..notify import notify_now
from .duty import BATCH, Duty, Look

logger = get_logger("scheduler")

_START: Key = ("", "")


class Unpark(Duty):
    """Put jobs back in line whose key has a free permit, or whose task is not paused any more."""

    name = "unpark"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # Where the last look left off: one takes a batch of keys, however many there are.
        self._after = _START

    def look_once(self, connection: Connection) -> Look:
        """Unpark for a batch of keys, and a batch of jobs of tasks."""
        jobs = self.jobs()
        tasks = jobs.unpark_tasks(limit=BATCH, on=connection)
        keys = jobs.list_parked_keys(limit=BATCH, after=self._after, on=connection)
        self._after = keys[-1] if len(keys) == BATCH else _START
        unparked = tasks | (jobs.unpark_jobs(keys, on=connection) if keys else {})
        if unparked:
            queues = sorted(set(unparked.values()))
            notify_now(queues, alias=self.alias, on=connection)
            event(logger, logging.DEBUG, "jobs.unparked", jobs=len(unparked), queues=",".join(queues))
        return Look(changed=len(unparked), more=len(tasks) == BATCH)
