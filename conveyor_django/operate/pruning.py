"""Ended jobs that may go, and how they do: by their retention, as schedulers prune, or by an age that is named."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from django.db.models import Exists, OuterRef, Q, TextField
from django.db.models.functions import Cast

from ..models import Dependency, Job, Queue, Workflow
from ..states import TERMINAL, JobState
from ..transactions import joined
from .filtering import database_now
from .selection import BATCH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet

    from ..conf import ConveyorSettings

_KEPT_SHORTER = (JobState.SUCCEEDED, JobState.CANCELLED)


def prunable(jobs: QuerySet[Job], settings: ConveyorSettings | None) -> QuerySet[Job]:
    """Return those of `jobs` that may be pruned now; without `settings` whatever their retention.

    Never one that has not ended, that a job waits for, or whose workflow is not finished.
    """
    open_workflows = Workflow.objects.filter(pk=OuterRef("workflow_id"), finished_at=None)
    waiting = Dependency.objects.filter(needs_id=OuterRef("pk"), resolved=False)
    ended = jobs.filter(~Exists(open_workflows), ~Exists(waiting), state__in=TERMINAL)
    return ended if settings is None else ended.filter(_past_retention(jobs.db, settings))


def prune_matching(jobs: QuerySet[Job], *, batch: int = BATCH) -> Iterator[int]:
    """Prune the ended jobs that a query finds, oldest first, with all that is theirs, a transaction for each batch.

    Yields how many of each batch went; the rest of it had changed meanwhile, was locked, or may not go (`prunable`).
    """
    alias, last = jobs.db, 0
    # As text: with USE_TZ = False an instant of the hour that comes twice would be another one on its way back.
    seen = jobs.filter(state__in=TERMINAL).order_by("pk").values_list("pk", Cast("finished_at", TextField()))
    while rows := list(seen.filter(pk__gt=last)[:batch]):
        with joined(alias):
            pruned = Job.objects.db_manager(alias).prune_chosen(dict(rows))
        yield pruned
        last = rows[-1][0]


def _past_retention(alias: str, settings: ConveyorSettings) -> Q:
    """Return what prune_jobs.sql says: failed jobs by their own retention, others by their queue's or the setting."""
    own = dict(Queue.objects.using(alias).exclude(retention_seconds=None).values_list("name", "retention_seconds"))
    now = database_now(alias)

    def older_than(retention: float | None) -> Q:
        # None: kept for ever.
        return Q(pk__in=()) if retention is None else Q(finished_at__lt=now - dt.timedelta(seconds=retention))

    past = Q(state=JobState.FAILED) & older_than(settings.failed_retention_seconds)
    others = Q(state__in=_KEPT_SHORTER)
    past |= others & ~Q(queue__in=own) & older_than(settings.retention_seconds)
    for queue, retention in own.items():
        past |= others & Q(queue=queue) & older_than(retention)
    return past
