"""Where few jobs can match a filter, which ones: by the indexes that the worker's and the scheduler's statements have.

The list of jobs looks here first. What is not few, or has no such index, is walked (`walk.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..models import Job
from ..states import TERMINAL, JobState, Parked

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator

    from django.db.models import QuerySet

# More than so many are walked: their ids would be a long list to look up.
FEW: Final = 2_000
# Of these an index has the jobs by id (conveyor_job_held_up).
BY_ID: Final = frozenset({JobState.BLOCKED, JobState.FAILED, JobState.CANCELLED})


def few_candidates(
    alias: str, *, state: str | None, queue: str | None = None, ended_from: dt.datetime | None = None
) -> list[int] | None:
    """Return the ids of all jobs in that state, of that queue, or that ended since; None where they are not few.

    Only what an index serves narrows it down: among them are jobs that match no other filter.
    """
    jobs = Job.objects.using(alias).all()
    for served in _served(jobs, state, queue, ended_from):
        ids: set[int] = set()
        for part in served:
            ids.update(part.values_list("pk", flat=True)[: FEW + 1])
            if len(ids) > FEW:
                break
        else:
            return sorted(ids)
    return None


def _served(
    jobs: QuerySet[Any], state: str | None, queue: str | None, ended_from: dt.datetime | None
) -> Iterator[list[QuerySet[Any]]]:
    """Yield what may be few, as the parts that it is made up of, each in the order of the index that has it.

    The order leaves the planner no better choice than that index, whatever it knows of the states.
    """
    if state == JobState.RUNNING:
        yield [jobs.filter(state=state).order_by("lease_owner")]
    elif state == JobState.SCHEDULED:
        yield [jobs.filter(state=state).order_by("run_at")]
    elif state == JobState.READY:
        yield _ready(jobs, queue)
    if ended_from is not None:
        ended = jobs.filter(state__in=sorted(TERMINAL), finished_at__gte=ended_from)
        yield [ended.order_by("-finished_at")]


def _ready(jobs: QuerySet[Any], queue: str | None) -> list[QuerySet[Any]]:
    ready = jobs.filter(state=JobState.READY)
    by_task = ready.filter(parked=Parked.TASK).order_by("task")
    if queue is not None:
        ready = ready.filter(queue=queue)
    return [
        ready.filter(parked=None).order_by("queue", "-priority", "ready_seq"),
        ready.filter(parked=Parked.KEY).order_by("queue", "concurrency_key", "-priority", "ready_seq"),
        by_task,
    ]
