"""Many jobs at once, those that a query finds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ..control import cancel, requeue
from ..results import result_id
from ..states import TERMINAL, JobState
from .filtering import batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet

    from ..models import Job

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
    """Cancel the jobs that a query finds and that have not ended, oldest first, a transaction for each.

    Yields how many of each batch are in which state now, as `cancel` says it: cancelled; running, and asked to stop;
    or ended meanwhile. Waits for whoever holds a job's row, so one transaction for many might be in each other's way.
    """
    for ids in batches(jobs.filter(state__in=OPEN), batch):
        yield Counter(cancel(result_id(jobs.db, job_id)) for job_id in ids)
