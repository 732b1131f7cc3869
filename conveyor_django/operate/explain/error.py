"""The last error of a job, with its traceback."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...compat import TaskResult
from ...control import place_of_job
from ...models import Attempt
from ...states import Verb
from ..answers import Answer

if TYPE_CHECKING:
    from django.db.models import QuerySet


@dataclass(frozen=True, slots=True, kw_only=True)
class LastError(Answer):
    """What ended the newest run of a job that an error has ended, and when; `verb` says what became of the job.

    `traceback` is "" where there was none, as for a run whose process died.
    """

    run: int
    verb: Verb
    error_class: str
    message: str
    traceback: str
    finished_at: dt.datetime


def last_error(job: int | str | TaskResult[..., Any]) -> LastError | None:
    """Return the last error of a job, None where none is kept; it is named, and errors are raised, as in `explain`."""
    job_id, alias = place_of_job(job)
    row = with_error(Attempt.objects.using(alias).filter(job_id=job_id)).order_by("-lease_version").first()
    if row is None:
        return None
    return LastError(
        run=row.number, verb=Verb(row.verb), error_class=row.error_class, message=row.message,
        traceback=row.traceback, finished_at=row.finished_at,
    )  # fmt: skip


def with_error(attempts: QuerySet[Attempt]) -> QuerySet[Attempt]:
    """Return those that an error has ended: others were put off by their handler, or given back."""
    return attempts.exclude(error_class="").exclude(verb=Verb.SNOOZE)
