"""What a person or a program may do to a job from outside: cancel it, run it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .compat import TaskResult, TaskResultDoesNotExist
from .conf import MAX_ID, conveyor_settings
from .errors import describe
from .notify import notify_on_commit
from .results import job_id_of, result_id

if TYPE_CHECKING:
    from .managers.jobs import JobManager
    from .states import JobState


def cancel(job: int | str) -> JobState | None:
    """Cancel a job, named by its id or its result's id, in the caller's transaction if there is one.

    Returns `cancelled` where it waited; `running` where it runs: the request is noted, and any end but a
    success becomes `cancelled`; None where it had ended or does not exist. Waits for whoever holds the row.
    Raises TypeError or ValueError for what names no job of this database.
    """
    alias = conveyor_settings().database
    return _jobs(alias).cancel_job(_id_of(job, alias))


def requeue(*jobs: int | str | TaskResult[..., Any]) -> list[int]:
    """Make failed and cancelled jobs ready again, with fresh budgets; named as for `cancel`.

    Returns the ids of those that were; the others are in another state, or locked by somebody at the moment.
    Raises as `cancel` does, before anything is changed.
    """
    alias = conveyor_settings().database
    queues = _jobs(alias).requeue_jobs([_id_of(job, alias) for job in jobs])
    notify_on_commit(sorted(set(queues.values())), alias=alias)
    return sorted(queues)


def _id_of(job: Any, alias: str) -> int:
    if isinstance(job, TaskResult):
        job = job.id
    if isinstance(job, str):
        try:
            return job_id_of(job, alias=alias)
        except TaskResultDoesNotExist:
            raise ValueError(_refusal(job, alias)) from None
    if isinstance(job, bool) or not isinstance(job, int):
        raise TypeError(_refusal(job, alias))
    if not 1 <= job <= MAX_ID:
        raise ValueError(_refusal(job, alias))
    return job


def _refusal(given: Any, alias: str) -> str:
    return (
        f"{describe(given)} names no job of database {alias!r}: "
        f"pass a job's int id, a TaskResult, or result.id, such as {result_id(alias, 42)!r}."
    )


def _jobs(alias: str) -> JobManager:
    from .models import Job

    return Job.objects.db_manager(alias)
