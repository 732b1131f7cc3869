"""The numbers of a scheduler: what its duties' looks have come to."""

from __future__ import annotations

import time
from typing import Final

from ..scheduler.loop import SchedulerLoop
from .collector import Families, Source

# What the rows that a duty changed are, where that has a name of its own: (metric, further labels).
_NAMED: Final[dict[str, tuple[str, ...]]] = {
    "promote": ("conveyor_promoted_total",),
    "ticks": ("conveyor_cron_ticks_total",),
    "rescue": ("conveyor_rescued_total", "lease"),
    "dead workers": ("conveyor_rescued_total", "dead_worker"),
    "prune": ("conveyor_pruned_total",),
}


def scheduler_source(loop: SchedulerLoop, *, alias: str) -> Source:
    """Return the numbers of a scheduler on the database `alias`."""

    def add(families: Families) -> None:
        now = time.monotonic()
        for duty, record in loop.records.items():
            label = duty.replace(" ", "_")
            families.add("conveyor_scheduler_looks_total", record.looks, alias, label)
            families.add("conveyor_scheduler_errors_total", loop.errors[duty], alias, label)
            families.add("conveyor_scheduler_changes_total", record.changed, alias, label)
            families.add("conveyor_scheduler_look_age_seconds", now - record.looked_at, alias, label)
            if duty in _NAMED:
                name, *labels = _NAMED[duty]
                families.add(name, record.changed, alias, *labels)

    return add
