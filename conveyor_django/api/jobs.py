"""Look at jobs, cancel them, run them again."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from ninja import Query

from .. import models
from ..compat import TaskResultDoesNotExist
from ..control import cancel, requeue
from ..operate.apiverbs import ApiVerb
from ..operate.explain import explain
from ..results import place_of, result_id
from ..states import JobState
from .access import Caller, require, require_queue
from .cursors import cursor_from
from .inputs import JobFilter
from .listing import page_of, visible
from .outputs import CancelledJob, Explanation, JobDetail, Page, RetriedJob, reply
from .problems import RETRY_SECONDS, Problem, invalid, not_found
from .routing import router
from .shown import detail_of, explained, shown

RETRIABLE: Final = frozenset({JobState.FAILED, JobState.CANCELLED})


@router.get("/jobs", response=Page, operation_id="listJobs")
def list_jobs(request: HttpRequest, asked: Query[JobFilter]) -> HttpResponse:
    """List jobs, the newest first. Without `queue`: those of every queue that the caller may see.

    A page may be short, or empty, before the end: what is rare is looked for only so long.
    The end is where `next` is null.
    """
    caller = require(request, ApiVerb.READ)
    for name in request.GET:
        if name not in JobFilter.model_fields:
            raise invalid(
                f"There is no parameter {name!r}; there are {', '.join(JobFilter.model_fields)}.", parameter=name
            )
    for queue in asked.queue:
        require_queue(caller, queue)
    cursor = None if asked.cursor is None else cursor_from(asked.cursor)
    page, following = page_of(asked, frozenset(asked.queue) or caller.queues, cursor)
    return reply(Page(jobs=[shown(job, alias) for alias, job in page], next=following and following.text()))


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
    return reply(RetriedJob(id=name, state=JobState.READY))


def _found(caller: Caller, text: str) -> tuple[models.Job, str]:
    """Return the job of this id, with its database. Raises Problem: the same where it is not the caller's."""
    try:
        job_id, alias = place_of(text)
    except TaskResultDoesNotExist as error:
        raise _no_such_job() from error
    job = visible(alias, caller.queues).filter(pk=job_id).first()
    if job is None:
        raise _no_such_job()
    return job, alias


def _no_such_job() -> Problem:
    return not_found("There is no such job.")


def _not_retried(job: models.Job, alias: str) -> Problem:
    """Return why a job was not made ready."""
    state = visible(alias, None).filter(pk=job.pk).values_list("state", flat=True).first()
    if state is None:
        return _no_such_job()
    if state in RETRIABLE:
        return Problem(
            409, "locked", "Somebody changes the job in this moment. Try again.",
            headers={"Retry-After": str(RETRY_SECONDS)},
        )  # fmt: skip
    return Problem(409, "not-ended", f"The job is {state}; only failed and cancelled jobs are run again.")
