"""Many jobs at once, those that a query finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..control import requeue
from ..results import result_id
from ..states import JobState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet

    from ..models import Job

# Locks are held for one batch's time; a caller that stops between two has done what it was told so far.
BATCH: Final = 500


def requeue_matching(jobs: QuerySet[Job], *, batch: int = BATCH) -> Iterator[int]:
    """Requeue the failed and cancelled jobs that a query finds, oldest first, a transaction for each batch.

    Yields how many of each batch were made ready; the rest of it had changed state meanwhile, or was locked.
    """
    alias, last = jobs.db, 0
    ended = jobs.filter(state__in=[JobState.FAILED, JobState.CANCELLED]).order_by("pk")
    while ids := list(ended.filter(pk__gt=last).values_list("pk", flat=True)[:batch]):
        yield len(requeue(*(result_id(alias, job_id) for job_id in ids)))
        last = ids[-1]
