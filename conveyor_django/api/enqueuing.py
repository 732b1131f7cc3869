"""Enqueue one job, or many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from ..backend import ConveyorBackend
from ..calls import Call
from ..compat import InvalidTask, TaskResultDoesNotExist
from ..conf import conveyor_settings
from ..enqueue import prepare
from ..errors import IdempotencyConflict, InvalidArguments, PayloadTooLarge
from ..operate.apiverbs import ApiVerb
from .access import Caller, require
from .headers import KEY, idempotency_key, trace_of
from .inputs import Batch, BatchJob, NewJob
from .offered import task_for
from .outputs import Enqueued, EnqueuedBatch, reply
from .problems import Problem, invalid
from .routing import router

if TYPE_CHECKING:
    from ..compat import TaskResult
    from ..tasks import ConveyorTask

    Task = ConveyorTask[..., Any]
    Result = TaskResult[..., Any]


@router.post("/jobs", response={201: Enqueued, 200: Enqueued}, operation_id="enqueueJob")
def enqueue_job(request: HttpRequest, job: NewJob) -> HttpResponse:
    """Enqueue a job: 201 where it is new, 200 where the job that has its Idempotency-Key is the same work."""
    caller = require(request, ApiVerb.ENQUEUE)
    task = _task_for(caller, job, idempotency_key(request))
    with _refusing(), trace_of(request):
        accepted: tuple[Result, bool] = _backend_of(task).accept(task, job.args, job.kwargs)
    result, is_new = accepted
    headers = {"Location": reverse(f"{_namespace(request)}:get_job", kwargs={"job_id": result.id})}
    return reply(_enqueued(result, is_new=is_new), 201 if is_new else 200, **headers)


@router.post("/batch", response={201: EnqueuedBatch, 200: EnqueuedBatch}, operation_id="enqueueJobs")
def enqueue_jobs(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Enqueue many jobs, or none of them: where one is refused, the errors say which by their pointers.

    201 where one of them is new. All of their queues have to live in one database.
    """
    caller = require(request, ApiVerb.ENQUEUE)
    if KEY in request.headers:
        raise invalid(f"{KEY} names one job: give each its own `idempotency_key` in the batch.", header=KEY)
    calls = _calls(caller, batch.jobs)
    _require_one_place(calls)
    with trace_of(request):
        results, new = _accept_all(calls)
    # By identity: of two jobs with one key, the first is new and the second is it.
    created = {id(result) for result in new}
    jobs = [_enqueued(result, is_new=id(result) in created) for result in results]
    return reply(EnqueuedBatch(jobs=jobs), 201 if new else 200)


def _calls(caller: Caller, jobs: Sequence[BatchJob]) -> list[Call[..., Any]]:
    """Return the calls that a batch asks for. Raises Problem with the errors of all of its jobs."""
    calls: list[Call[..., Any]] = []
    problems = []
    for place, job in enumerate(jobs):
        try:
            task = _task_for(caller, job, job.idempotency_key, f"#/jobs/{place}")
            calls.append(Call(task, tuple(job.args), job.kwargs))
        except Problem as problem:
            problems.append((place, problem))
    if problems:
        raise _together(problems)
    return calls


def _accept_all(calls: Sequence[Call[..., Any]]) -> tuple[list[Result], list[Result]]:
    """Store all of the calls; return all results, and those of new jobs. Raises Problem with each job's errors."""
    try:
        with _refusing():
            return _backend_of(calls[0].task).accept_many(calls)
    except Problem as problem:
        # It is about the first that is wrong: now all are looked at.
        wrong = _conflicting(calls, problem) if isinstance(problem.__cause__, IdempotencyConflict) else _wrong(calls)
        raise (_together(wrong) if wrong else problem) from problem


def _conflicting(calls: Sequence[Call[..., Any]], problem: Problem) -> list[tuple[int, Problem]]:
    """Return which of the calls have the key of a conflict."""
    conflict = cast("IdempotencyConflict", problem.__cause__)
    named = (conflict.queue, conflict.key)
    keys = [(call.task.queue_name, getattr(call.task, "idempotency_key", None)) for call in calls]
    return [(place, problem) for place, key in enumerate(keys) if key == named]


def _wrong(calls: Sequence[Call[..., Any]]) -> list[tuple[int, Problem]]:
    """Return what is wrong with which of the calls."""
    problems = []
    for place, call in enumerate(calls):
        try:
            with _refusing(f"#/jobs/{place}"):
                prepare(call.task, call.args, call.kwargs)
        except Problem as problem:
            problems.append((place, problem))
    return problems


def _together(problems: Sequence[tuple[int, Problem]]) -> Problem:
    """Return one refusal of a batch for those of its jobs, with the status of the first."""
    place, first = problems[0]
    errors = [error for where, problem in problems for error in problem.errors or [_about(where, problem)]]
    return Problem(
        first.status, first.code, f"Nothing was enqueued: jobs that are refused: {len(problems)}. The first is "
        f"jobs[{place}]: {first.detail}", errors=errors,
    )  # fmt: skip


def _about(place: int, problem: Problem) -> dict[str, str]:
    return {"pointer": f"#/jobs/{place}", "detail": problem.detail}


def _require_one_place(calls: Sequence[Call[..., Any]]) -> None:
    """Raise Problem for a batch that one transaction cannot store."""
    database_of = conveyor_settings().database_of
    first = calls[0].task
    for place, call in enumerate(calls):
        if (database_of(call.task.queue_name), call.task.backend) != (database_of(first.queue_name), first.backend):
            raise invalid(
                "It is stored in another place than the first job, so the two cannot be one batch. Send one for each.",
                pointer=f"#/jobs/{place}",
            )


@contextmanager
def _refusing(place: str = "#") -> Iterator[None]:
    """Turn what an enqueue raises for its caller into Problem."""
    try:
        yield
    except PayloadTooLarge as error:
        raise Problem(413, "too-large", str(error), errors=[{"pointer": place, "detail": str(error)}]) from error
    except IdempotencyConflict as error:
        # Not its message, which has the other job's arguments.
        raise Problem(
            422, "idempotency-key-reused",
            f"The idempotency key {error.key!r} of queue {error.queue!r} belongs to a job with another task or other "
            f"arguments. Use another key for another piece of work.",
        ) from error  # fmt: skip
    except (InvalidArguments, InvalidTask) as error:
        raise invalid(str(error), pointer=place) from error
    except TaskResultDoesNotExist as error:
        raise Problem(
            409, "conflict", "The job that had the key has ended and was pruned in this moment. Send the request again."
        ) from error


def _task_for(caller: Caller, job: NewJob, key: str | None, place: str = "#") -> Task:
    with _refusing(place):
        return task_for(caller, job, key, place)


def _enqueued(result: Result, *, is_new: bool) -> Enqueued:
    task = result.task
    return Enqueued(id=result.id, task=task.module_path, queue=task.queue_name, created=is_new)


def _backend_of(task: Any) -> ConveyorBackend:
    return cast("ConveyorBackend", task.get_backend())


def _namespace(request: HttpRequest) -> str:
    match = request.resolver_match
    return match.namespace if match else ""
