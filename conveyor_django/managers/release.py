"""What follows the end of a workflow's jobs: late edges, the workflow's own end, and whom to wake.

The trigger on the job's table releases dependants in the statement that ends the job they need. What it had to skip,
since a row was locked or not committed yet, is done here: by the worker right after the commit, and by the scheduler's
sweep whatever becomes of the worker.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass, field

from ..states import JobState
from .base import Connection
from .workflows import Changed, WorkflowManager

# Rows that one pass of a sweep looks for at most.
BATCH = 1000


@dataclass(frozen=True, slots=True)
class Sweep:
    """What one pass changed, and the queues that it made jobs ready in."""

    changed: int = 0
    queues: set[str] = field(default_factory=set)


def follow_up(
    *,
    alias: str,
    ended: Collection[int],
    workflows: Collection[int],
    now: dt.datetime | None = None,
    on: Connection | None = None,
) -> set[str]:
    """Do what is left after these jobs of these workflows have ended; return the queues where something is ready.

    To be called after the commit: what was released in it is told of, too. Database errors pass through.
    """
    manager: WorkflowManager = WorkflowManager().db_manager(alias)
    queues: set[str] = set()
    if ended:
        queues, late = manager.list_dependants(ended, on=on)
        if late:
            resolved = manager.resolve_edges(ended, now=now, on=on)
            queues |= {job.queue for job in resolved if job.state == JobState.READY}
    return queues | manager.finish_workflows(workflows, now=now, on=on).queues


def sweep_once(*, alias: str, now: dt.datetime | None = None, on: Connection | None = None) -> Sweep:
    """Resolve late edges and finish workflows that have ended, a batch of each; repeat it until it changes nothing."""
    manager: WorkflowManager = WorkflowManager().db_manager(alias)
    resolved = _resolve_late_edges(manager, now=now, on=on)
    finished = manager.finish_workflows(manager.find_ended_workflows(limit=BATCH, on=on), now=now, on=on)
    queues = {job.queue for job in resolved if job.state == JobState.READY}
    return Sweep(len(resolved) + len(finished.ids), queues | finished.queues)


def sweep_until_clean(*, alias: str, now: dt.datetime | None = None, on: Connection | None = None) -> Sweep:
    """Sweep until a pass changes nothing: what is blocked then waits for jobs that have not ended."""
    changed, queues = 0, set[str]()
    while (swept := sweep_once(alias=alias, now=now, on=on)).changed:
        changed += swept.changed
        queues |= swept.queues
    return Sweep(changed, queues)


def _resolve_late_edges(manager: WorkflowManager, *, now: dt.datetime | None, on: Connection | None) -> list[Changed]:
    """Resolve a batch of late edges, the first that changes anything: somebody may hold all dependants of another."""
    after = 0
    while late := manager.find_late_edges(limit=BATCH, after=after, on=on):
        if resolved := manager.resolve_edges(late, now=now, on=on):
            return resolved
        after = max(late)
    return []
