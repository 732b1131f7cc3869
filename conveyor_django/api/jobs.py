"""Look at jobs, cancel them, run them again."""

from __future__ import annotations

from typing import Any, Final

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Query

from .. import models
from ..compat import TaskResultDoesNotExist
from ..conf import conveyor_settings
from ..control import cancel, requeue
from ..operate.apiverbs import ApiVerb
from ..operate.explain import explain
from ..results import place_of, result_id
from ..states import JobState
from .access import Caller, require, require_queue
from .cursors import Cursor, cursor_from
from .inputs import JobFilter
from .outputs import CancelledJob, Explanation, JobDetail, Page, RetriedJob, reply
from .problems import RETRY_SECONDS, Problem, invalid, not_found
from .routing import router
from .shown import detail_of, explained, shown

RETRIABLE: Final = frozenset({JobState.FAILED, JobState.CANCELLED})


@router.get("/jobs", response=Page, operation_id="listJobs")
def list_jobs(request: HttpRequest, asked: Query[JobFilter]) -> HttpResponse:
    """List jobs, the newest first. Without `queue`: those of every queue that the caller may see."""
    caller = require(request, ApiVerb.READ)
    for name in request.GET:
        if name not in JobFilter.model_fields:
            raise invalid(
                f"There is no parameter {name!r}; there are {', '.join(JobFilter.model_fields)}.", parameter=name
            )
    for queue in asked.queue:
        require_queue(caller, queue)
    queues = frozenset(asked.queue) or caller.queues
    cursor = None if asked.cursor is None else cursor_from(asked.cursor)
    rows = _rows(asked, queues, _aliases(queues), cursor)
    page, rest = rows[: asked.limit], rows[asked.limit :]
    last = Cursor(page[-1][0], page[-1][1].pk).text() if rest else None
    return reply(Page(jobs=[shown(job, alias) for alias, job in page], next=last))


@router.get("/jobs/{job_id}", response=JobDetail, operation_id="getJob", url_name="get_job")
def get_job(request: HttpRequest, job_id: str) -> HttpResponse:
    """Look at a job; its arguments, result and errors are shown to who has the verb `inspect`."""
    caller = require(request, ApiVerb.READ)
    job, alias = _found(caller, job_id)
    return reply(detail_of(job, alias, inspect=caller.may(ApiVerb.INSPECT)))


@router.get("/jobs/{job_id}/explain", response=Explanation, operation_id="explainJob")
def explain_job(request: HttpRequest, job_id: str) -> HttpResponse:
    """Say why a job is not running, or how it ended, and what to do; the answer has its last error, and other jobs."""
    require(request, ApiVerb.INSPECT)
    caller = require(request, ApiVerb.READ)
    job, alias = _found(caller, job_id)
    told = explain(result_id(alias, job.pk))
    if told.state is None:
        raise _no_such_job()
    return reply(explained(told))


@router.post("/jobs/{job_id}/cancel", response={200: CancelledJob, 202: CancelledJob}, operation_id="cancelJob")
def cancel_job(request: HttpRequest, job_id: str) -> HttpResponse:
    """Cancel a job: 200 where it is cancelled, 202 where it runs and its worker has been asked, 409 if it has ended."""
    caller = require(request, ApiVerb.CANCEL)
    job, alias = _found(caller, job_id)
    name = result_id(alias, job.pk)
    state = cancel(name)
    if state is None:
        raise _no_such_job()
    if state in {JobState.SUCCEEDED, JobState.FAILED}:
        raise Problem(409, "ended", f"The job has ended: it has {state.value}.")
    return reply(CancelledJob(id=name, state=state), 202 if state is JobState.RUNNING else 200)


@router.post("/jobs/{job_id}/retry", response=RetriedJob, operation_id="retryJob")
def retry_job(request: HttpRequest, job_id: str) -> HttpResponse:
    """Make a failed or cancelled job ready again, with fresh budgets; 409 for any other."""
    caller = require(request, ApiVerb.RETRY)
    job, alias = _found(caller, job_id)
    name = result_id(alias, job.pk)
    if not requeue(name):
        raise _not_retried(job, alias)
    return reply(RetriedJob(id=name))


def _found(caller: Caller, text: str) -> tuple[models.Job, str]:
    """Return the job of this id, with its database. Raises Problem: the same where it is not the caller's."""
    try:
        job_id, alias = place_of(text)
    except TaskResultDoesNotExist as error:
        raise _no_such_job() from error
    job = _visible(alias, caller.queues).filter(pk=job_id).first()
    if job is None:
        raise _no_such_job()
    return job, alias


def _visible(alias: str, queues: frozenset[str] | None) -> QuerySet[models.Job]:
    jobs: QuerySet[models.Job] = models.Job.objects.using(alias)
    return jobs if queues is None else jobs.filter(queue__in=sorted(queues))


def _no_such_job() -> Problem:
    return not_found("There is no such job.")


def _not_retried(job: models.Job, alias: str) -> Problem:
    """Return why a job was not made ready."""
    state = _visible(alias, None).filter(pk=job.pk).values_list("state", flat=True).first()
    if state is None:
        return _no_such_job()
    if state in RETRIABLE:
        return Problem(
            409, "locked", "Somebody changes the job in this moment. Try again.",
            headers={"Retry-After": str(RETRY_SECONDS)},
        )  # fmt: skip
    return Problem(409, "not-ended", f"The job is {state}; only failed and cancelled jobs are run again.")


def _aliases(queues: frozenset[str] | None) -> list[str]:
    """Return the databases that these queues live in."""
    settings = conveyor_settings()
    if queues is None:
        return list(settings.databases)
    theirs = set(map(settings.database_of, queues))
    return [alias for alias in settings.databases if alias in theirs]


def _rows(
    asked: JobFilter, queues: frozenset[str] | None, aliases: list[str], cursor: Cursor | None
) -> list[tuple[str, models.Job]]:
    """Return the jobs of a page and one more, if there is one: of one database after the other, each by falling id."""
    if cursor is not None:
        if cursor.alias not in aliases:
            raise invalid("cursor is one of another list; leave it out to begin anew.", parameter="cursor")
        aliases = aliases[aliases.index(cursor.alias) :]
    rows: list[tuple[str, models.Job]] = []
    for alias in aliases:
        jobs = _visible(alias, queues).filter(**_conditions(asked)).order_by("-pk")
        if cursor is not None and alias == cursor.alias:
            jobs = jobs.filter(pk__lt=cursor.job_id)
        rows += [(alias, job) for job in jobs[: asked.limit + 1 - len(rows)]]
        if len(rows) > asked.limit:
            break
    return rows


def _conditions(asked: JobFilter) -> dict[str, Any]:
    given = {
        "state__in": [state.value for state in asked.state] or None,
        "task": asked.task,
        "created_at__gt": asked.created_after,
        "created_at__lt": asked.created_before,
    }
    return {name: value for name, value in given.items() if value is not None}
