"""Pages of jobs, by cursor: each takes a moment, however many jobs there are and however rare those that match."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from ..conf import MAX_ID, conveyor_settings
from ..models import Job
from ..operate.walk import Found, newest, walk
from .cursors import Cursor
from .inputs import JobFilter
from .problems import invalid

Queues = frozenset[str] | None


def visible(alias: str, queues: Queues) -> QuerySet[Job]:
    """Return the jobs of these queues (None: of all of them) that live on a database."""
    jobs: QuerySet[Job] = Job.objects.using(alias).all()
    return jobs if queues is None else jobs.filter(queue__in=sorted(queues))


def databases_of(queues: Queues) -> list[str]:
    """Return the databases that these queues (None: any queues) live in."""
    settings = conveyor_settings()
    theirs = None if queues is None else set(map(settings.database_of, queues))
    return [alias for alias in settings.databases if theirs is None or alias in theirs]


def page_of(asked: JobFilter, queues: Queues, cursor: Cursor | None) -> tuple[list[tuple[str, Job]], Cursor | None]:
    """Return a page's jobs, each with its database, and where the list goes on: None at its end.

    One database after the other, each by falling id. Raises Problem for a cursor of another list.
    """
    page: list[tuple[str, Job]] = []
    for alias in _aliases(queues, cursor):
        if len(page) == asked.limit:
            return page, Cursor(alias, MAX_ID)
        jobs = visible(alias, queues).filter(**_conditions(asked))
        before = cursor.job_id if cursor is not None and cursor.alias == alias else None
        found = _found(jobs, alias, before, asked.limit - len(page))
        # By the same filter again: one that has changed meanwhile does not match any more.
        page += [(alias, job) for job in jobs.filter(pk__in=found.ids).order_by("-pk")]
        if found.before is not None:
            return page, Cursor(alias, found.before)
    return page, None


def _aliases(queues: Queues, cursor: Cursor | None) -> list[str]:
    """Return the databases that these queues live in, from that of the cursor on."""
    aliases = databases_of(queues)
    if cursor is None:
        return aliases
    if cursor.alias not in aliases:
        raise invalid("cursor is one of another list; leave it out to begin anew.", parameter="cursor")
    return aliases[aliases.index(cursor.alias) :]


def _found(jobs: QuerySet[Job], alias: str, before: int | None, limit: int) -> Found:
    if not jobs.query.where:
        return newest(jobs, before=before, limit=limit)
    return walk(jobs, among=visible(alias, None), before=before, limit=limit)


def _conditions(asked: JobFilter) -> dict[str, Any]:
    given = {
        "state__in": [state.value for state in asked.state] or None,
        "task": asked.task,
        "created_at__gt": asked.created_after,
        "created_at__lt": asked.created_before,
    }
    return {name: value for name, value in given.items() if value is not None}
