"""Jobs as the framework's TaskResult: what `get_result`, the signals and a handler's context show.

A wait for a retry is READY with `errors` and `worker_ids` grown; cancelled and lost jobs are FAILED.
"""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.utils import timezone

from .compat import TaskError, TaskResult, TaskResultDoesNotExist, TaskResultStatus
from .conf import MAX_ID, conveyor_settings
from .errors import JobCancelled, LeaseLost, describe
from .managers.jobs import Accepted
from .outcomes import Claimed, Ended, Outcome
from .rebuild import task_of
from .states import JobState, Verb

if TYPE_CHECKING:
    from .compat import Task
    from .models import Attempt, Job

    Result = TaskResult[..., Any]

STATUS: Final = {
    JobState.BLOCKED: TaskResultStatus.READY,
    JobState.SCHEDULED: TaskResultStatus.READY,
    JobState.READY: TaskResultStatus.READY,
    JobState.RUNNING: TaskResultStatus.RUNNING,
    JobState.SUCCEEDED: TaskResultStatus.SUCCESSFUL,
    JobState.FAILED: TaskResultStatus.FAILED,
    JobState.CANCELLED: TaskResultStatus.FAILED,
}
# Rows of these are errors; a snooze or a release is not one.
_ERRORS: Final = frozenset({Verb.RETRY, Verb.FAIL, Verb.RESCUE, Verb.CANCEL})
_DISPOSED: Final = (
    "its workflow cancelled it: a job that it needs failed or was cancelled, or it is a callback for another end. "
    "To run the workflow again: conveyor_django.retry_workflow(...)."
)
# What the framework's result is made of, and whether it has no other fields.
_FIELDS: Final = (
    "task", "id", "status", "enqueued_at", "started_at", "last_attempted_at", "finished_at", "args", "kwargs",
    "backend", "errors", "worker_ids",
)  # fmt: skip
_ARE_KNOWN: Final = {field.name for field in fields(TaskResult)} == {*_FIELDS, "_return_value"}
# Types that the framework's rule for arguments leaves as they are.
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_ID: Final = re.compile(r"(?P<alias>.+):(?P<id>[1-9][0-9]{0,18})", re.ASCII | re.DOTALL)


def result_id(alias: str, job_id: int) -> str:
    """Return the id of a job's result: distinct across databases, at most 64 characters."""
    return f"{alias}:{job_id}"


def place_of(given: Any) -> tuple[int, str]:
    """Return the id and the database of the job whose result has this id.

    Raises TaskResultDoesNotExist for any other text, also for a database where no queue lives.
    """
    match = _ID.fullmatch(given) if isinstance(given, str) else None
    if match is None or match["alias"] not in conveyor_settings().databases or int(match["id"]) > MAX_ID:
        example = result_id(conveyor_settings().database, 7)
        raise TaskResultDoesNotExist(f"{describe(given)} is no result's id: one looks like {example!r}.")
    return int(match["id"]), match["alias"]


def stored_result(job_id: int, *, alias: str, backend: str) -> Result:
    """Return what the tables say of a job, for the task backend named `backend`.

    Raises TaskResultDoesNotExist where there is no such job (any more).
    """
    return stored_results([job_id], alias=alias, backend=backend)[job_id]


def stored_results(ids: Iterable[int], *, alias: str, backend: str) -> dict[int, Result]:
    """Do as `stored_result` for many jobs, with three queries at most."""
    from .models import Attempt, Job, Ledger

    wanted = set(ids)
    if not wanted:
        return {}
    jobs = Job.objects.using(alias).select_related("payload").in_bulk(wanted)
    if missing := wanted - set(jobs):
        raise TaskResultDoesNotExist(f"There is no job {result_id(alias, min(missing))}, or not any more.")
    attempts: dict[int, list[Attempt]] = {job_id: [] for job_id in wanted}
    for attempt in Attempt.objects.using(alias).filter(job_id__in=wanted).order_by("lease_version"):
        job = jobs[attempt.job_id]
        # The run may have ended since the job was read; the result shows one moment.
        if job.state != JobState.RUNNING or attempt.lease_version < job.lease_version:
            attempts[attempt.job_id].append(attempt)
    ended = [job.pk for job in jobs.values() if job.state == JobState.SUCCEEDED]
    successes = Ledger.objects.db_manager(alias).successes_of(ended) if ended else {}
    return {
        job_id: _result_of(jobs[job_id], attempts[job_id], successes.get(job_id), alias=alias, backend=backend)
        for job_id in wanted
    }


def _result_of(job: Job, attempts: Sequence[Attempt], success: Any, *, alias: str, backend: str) -> Result:
    last_owner = job.lease_owner if success is None else success.owner
    payload = getattr(job, "payload", None)
    result: Result = TaskResult(
        task=task_of(job, backend=backend),
        id=result_id(alias, job.pk),
        status=STATUS[JobState(job.state)],
        enqueued_at=job.created_at,
        started_at=job.started_at,
        last_attempted_at=job.claimed_at,
        finished_at=job.finished_at,
        args=payload.args if payload else [],
        kwargs=payload.kwargs if payload else {},
        backend=backend,
        errors=[*_errors_of(attempts), *_unrecorded_end(job, attempts)],
        worker_ids=[*_owners_of(attempts), *([str(last_owner)] if last_owner else [])],
    )
    return _with(result, _return_value=None if success is None else success.result)


def accepted_result(
    task: Task[..., Any], accepted: Accepted, args: Sequence[Any], kwargs: Mapping[str, Any], *, alias: str
) -> Result:
    """Return the READY result of a job that was stored just now."""
    values: tuple[Any, ...] = (
        task, result_id(alias, accepted.id), STATUS[accepted.state], accepted.created_at, None, None, None,
        list(args), dict(kwargs), task.backend, [], [],
    )  # fmt: skip
    # The framework makes all arguments plain JSON once more, which is half of what its result takes to make.
    if _ARE_KNOWN and _PLAIN.issuperset(map(type, args)) and _PLAIN.issuperset(map(type, kwargs.values())):
        result: Result = object.__new__(TaskResult)
        for name, value in zip(_FIELDS, values, strict=True):
            object.__setattr__(result, name, value)
        return _with(result, _return_value=None)
    return TaskResult(**dict(zip(_FIELDS, values, strict=True)))


def running_result(
    claimed: Claimed,
    *,
    owner: uuid.UUID,
    task: Task[..., Any],
    args: list[Any],
    kwargs: dict[str, Any],
    alias: str,
) -> Result:
    """Return the RUNNING result of a job that this process holds.

    Costs nothing for a job that was never claimed before; else one query, on Django's connection for `alias`.
    `started_at` and `last_attempted_at` of the run itself are by this process's clock.
    """
    past = _past_attempts(claimed, alias)
    now = timezone.now()
    return TaskResult(
        task=task,
        id=result_id(alias, claimed.id),
        status=TaskResultStatus.RUNNING,
        enqueued_at=_for_django(claimed.created_at),
        started_at=past[0].started_at if past else now,
        last_attempted_at=now,
        finished_at=None,
        args=args,
        kwargs=kwargs,
        backend=task.backend,
        errors=_errors_of(past),
        worker_ids=[*_owners_of(past), str(owner)],
    )


def finished_result(result: Result, outcome: Outcome, value: Any = None) -> Result:
    """Return a running result as its outcome leaves it; `value` is what the handler returned.

    `finished_at` is by this process's clock.
    """
    if not isinstance(outcome, Ended):
        ended = replace(result, status=TaskResultStatus.SUCCESSFUL, finished_at=timezone.now())
        return _with(ended, _return_value=value)
    error = _error(outcome.error.error_class, outcome.error.message, outcome.error.traceback)
    if outcome.verb not in {Verb.FAIL, Verb.CANCEL}:
        return replace(result, status=TaskResultStatus.READY, errors=[*result.errors, error])
    return replace(result, status=TaskResultStatus.FAILED, finished_at=timezone.now(), errors=[*result.errors, error])


def _past_attempts(claimed: Claimed, alias: str) -> list[Attempt]:
    """Return what the job's earlier runs left, oldest first."""
    from .models import Attempt

    if claimed.version == 1:
        return []
    rows = Attempt.objects.using(alias).filter(job_id=claimed.id, lease_version__lt=claimed.version)
    return list(rows.order_by("lease_version"))


def _errors_of(attempts: Iterable[Attempt]) -> list[TaskError]:
    return [_error(row.error_class, row.message, row.traceback) for row in attempts if Verb(row.verb) in _ERRORS]


def _owners_of(attempts: Iterable[Attempt]) -> list[str]:
    # A run given back is not one: it did not start, or its worker could not finish it. Nor is a snoozed one.
    return [str(row.owner) for row in attempts if row.verb not in {Verb.RELEASE, Verb.SNOOZE}]


def _unrecorded_end(job: Job, attempts: Sequence[Attempt]) -> list[TaskError]:
    """Return an error for an end that left none: cancelled while it waited, given back too often."""
    if job.state not in {JobState.FAILED, JobState.CANCELLED}:
        return []
    last = attempts[-1] if attempts else None
    if last is not None and last.finished_at == job.finished_at:
        # A run ended the job.
        if Verb(last.verb) in _ERRORS:
            return []
        message = f"given back {job.release_count} times, at last: {last.message}"
        return [_error(_path(LeaseLost), message, "")]
    if job.state == JobState.CANCELLED:
        # Of a job that nobody asked to cancel its workflow disposed.
        disposed = job.workflow_id is not None and job.cancel_requested_at is None
        return [_error(_path(JobCancelled), _DISPOSED if disposed else str(JobCancelled(job.pk)), "")]
    return []


def _error(path: str, message: str, traceback: str) -> TaskError:
    return TaskError(exception_class_path=path, traceback=traceback or f"{path}: {message}\n")


def _path(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _for_django(instant: dt.datetime) -> dt.datetime:
    """Return an aware instant in the form that the project's models have."""
    return instant if settings.USE_TZ else timezone.make_naive(instant)


def _with(result: Result, **values: Any) -> Result:
    """Set fields that the constructor does not take, on a result that nobody else has seen."""
    for name, value in values.items():
        object.__setattr__(result, name, value)
    return result
