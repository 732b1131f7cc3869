"""Which jobs are meant: by their state, queue, task, time and error, on one database."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from django.db.models import Exists, OuterRef, Q

from ..managers.looking import LookManager
from ..models import Attempt, Job

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet

    from ..states import JobState

# What is counted at most, to show: counting a table of millions takes seconds, and the exact number tells nobody more.
MOST_COUNTED: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Jobs in one of `states`, of one of the queues and tasks named, if any are.

    `since` and `until` are instants, or how long ago they are by the database's clock, of when the jobs ended or, by
    `clock`, were enqueued. `error` is a part of what ended their last run: of the error's class or its message,
    whatever the case of the letters.
    """

    states: tuple[JobState, ...]
    queues: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    since: dt.datetime | dt.timedelta | None = None
    until: dt.datetime | dt.timedelta | None = None
    clock: Literal["finished_at", "created_at"] = "finished_at"
    error: str | None = None

    def jobs(self, alias: str) -> QuerySet[Job]:
        """Return the jobs on a database. What is "ago" is so from now on, however long they are looked at."""
        condition = Q(state__in=self.states)
        if self.queues:
            condition &= Q(queue__in=self.queues)
        if self.tasks:
            condition &= Q(task__in=self.tasks)
        for lookup, bound in (("gte", self.since), ("lt", self.until)):
            if bound is not None:
                condition &= Q(**{f"{self.clock}__{lookup}": _instant(bound, alias)})
        if self.error is not None:
            condition &= Q(Exists(_last_attempts(self.error)))
        return Job.objects.using(alias).filter(condition)


def count_up_to(jobs: QuerySet[Job], most: int = MOST_COUNTED) -> int:
    """Return how many jobs a query finds; `most` + 1 where there are more."""
    return jobs.order_by()[: most + 1].count()


def batches(jobs: QuerySet[Job], size: int) -> Iterator[list[int]]:
    """Yield the ids of the jobs that a query finds, oldest first, so many at a time; each once, whatever it becomes."""
    last = 0
    while ids := list(jobs.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:size]):
        yield ids
        last = ids[-1]


def database_now(alias: str) -> dt.datetime:
    """Return the database's time."""
    look: LookManager = LookManager().db_manager(alias)
    return look.server_clock()


def _instant(bound: dt.datetime | dt.timedelta, alias: str) -> dt.datetime:
    return database_now(alias) - bound if isinstance(bound, dt.timedelta) else bound


def _last_attempts(error: str) -> QuerySet[Attempt]:
    """Return the last run of each job, where such an error ended it."""
    return Attempt.objects.filter(
        Q(error_class__icontains=error) | Q(message__icontains=error),
        job_id=OuterRef("pk"), lease_version=OuterRef("lease_version"),
    )  # fmt: skip
