"""Many jobs at once, those that a query finds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ..control import cancel, requeue
from ..models import Job
from ..notify import notify_cancel_on_commit
from ..results import result_id
from ..states import TERMINAL, JobState
from ..transactions import joined
from .filtering import batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet

# Locks are held for one batch's time; a caller that stops between two has done what it was told so far.
BATCH: Final = 500
# What a job may be run again from, and what may be cancelled.
DEAD: Final = (JobState.FAILED, JobState.CANCELLED)
OPEN: Final = tuple(state for state in JobState if state not in TERMINAL)


def requeue_matching(jobs: QuerySet[Job], *, batch: int = BATCH) -> Iterator[int]:
    """Requeue the failed and cancelled jobs that a query finds, oldest first, a transaction for each batch.

    Yields how many of each batch were made ready; the rest of it had changed state meanwhile, or was locked.
    """
    for ids in batches(jobs.filter(state__in=DEAD), batch):
        yield len(requeue(*(result_id(jobs.db, job_id) for job_id in ids)))


def cancel_matching(jobs: QuerySet[Job], *, batch: int = BATCH) -> Iterator[Counter[JobState | None]]:
    """Cancel the jobs that a query finds and that have not ended, oldest first, a transaction for each batch.

    Yields how many of each batch are in which state now, as `cancel` says it: cancelled; running, and asked to stop;
    or ended meanwhile. Waits for whoever holds a job's row.
    """
    for ids in batches(jobs.filter(state__in=OPEN), batch):
        yield Counter(_cancel(ids, jobs.db))


def _cancel(ids: list[int], alias: str) -> list[JobState | None]:
    with joined(alias):
        states = Job.objects.db_manager(alias).cancel_jobs(ids)
        for job_id in [job_id for job_id, state in states.items() if state is JobState.RUNNING]:
            notify_cancel_on_commit(job_id, alias=alias)
    # What somebody has locked is waited for alone: who holds it may wait for another one of these.
    return [states[job_id] if job_id in states else cancel(result_id(alias, job_id)) for job_id in ids]
