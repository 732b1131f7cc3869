"""What a person or a program may do to a job from outside: cancel it, run it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .conf import conveyor_settings
from .notify import notify_on_commit
from .results import job_id_of

if TYPE_CHECKING:
    from .managers.jobs import JobManager
    from .states import JobState


def cancel(job: int | str) -> JobState | None:
    """Cancel a job, named by its id or its result's id, in the caller's transaction if there is one.

    Returns `cancelled` where it waited; `running` where it runs: the request is noted, and any end but a
    success becomes `cancelled`; None where it had ended or does not exist. Waits for whoever holds the row.
    """
    alias = conveyor_settings().database
    return _jobs(alias).cancel_job(_id_of(job, alias))


def requeue(*jobs: int | str) -> list[int]:
    """Make failed and cancelled jobs ready again, with fresh budgets; named as for `cancel`.

    Returns the ids of those that were; the others are in another state, or locked by somebody at the moment.
    """
    alias = conveyor_settings().database
    queues = _jobs(alias).requeue_jobs([_id_of(job, alias) for job in jobs])
    notify_on_commit(sorted(set(queues.values())), alias=alias)
    return sorted(queues)


def _id_of(job: int | str, alias: str) -> int:
    return job if isinstance(job, int) else job_id_of(job, alias=alias)


def _jobs(alias: str) -> JobManager:
    from .models import Job

    return Job.objects.db_manager(alias)
