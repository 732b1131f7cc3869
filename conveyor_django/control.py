"""What a person or a program may do to a job from outside: cancel it, run it now, run it again."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

from asgiref.sync import sync_to_async
from django.db import connections

from .compat import TaskResult, TaskResultDoesNotExist
from .conf import MAX_ID, conveyor_settings
from .errors import WaitInTransaction, describe
from .notify import notify_cancel_on_commit, notify_on_commit
from .results import place_of, result_id
from .retry import growing_pauses
from .states import JobState
from .transactions import joined

if TYPE_CHECKING:
    from .managers.jobs import JobManager

if TYPE_CHECKING:
    J = TypeVar("J", bound=int | str | TaskResult[..., Any])
else:
    J = TypeVar("J")

# A day: who waits longer for one job's end looks again.
MAX_WAIT: Final = 86_400


def cancel(job: int | str | TaskResult[..., Any], wait: float | None = None) -> JobState | None:
    """Cancel a job, named by its id, its result or its result's id, in the caller's transaction if there is one.

    Returns the state that the job is in now: `cancelled` where it waited, or was cancelled before; `running` where it
    runs: its worker stops the handler, and any end but a success that was first becomes `cancelled`; `succeeded` or
    `failed` where it had ended so; None where there is no such job. Waits for whoever holds the row.

    With `wait`, waits up to so many seconds for the end of a job that runs, and returns which end it was; still
    `running` if none came. Raises TypeError or ValueError for what names no job of this database or is no number of
    seconds, WaitInTransaction for a wait inside a transaction.
    """
    job_id, alias = place_of_job(job)
    deadline = _deadline(wait, alias)
    state = _cancel(job_id, alias)
    pauses = growing_pauses()
    while state is JobState.RUNNING and (pause := min(next(pauses), deadline - time.monotonic())) > 0:
        time.sleep(pause)
        state = _state(job_id, alias)
    return state


async def acancel(job: int | str | TaskResult[..., Any], wait: float | None = None) -> JobState | None:
    """Do as `cancel`, in async code; the wait blocks nobody."""
    job_id, alias = place_of_job(job)
    deadline = await sync_to_async(_deadline)(wait, alias)
    state = await sync_to_async(_cancel)(job_id, alias)
    pauses = growing_pauses()
    while state is JobState.RUNNING and (pause := min(next(pauses), deadline - time.monotonic())) > 0:
        await asyncio.sleep(pause)
        state = await sync_to_async(_state)(job_id, alias)
    return state


def requeue(*jobs: J) -> list[J]:
    """Make failed and cancelled jobs ready again, with fresh budgets; named as for `cancel`.

    Returns those that were, as they were named; the others are in another state, or locked by somebody at the moment.
    Raises as `cancel` does, before anything is changed.
    """
    places = [place_of_job(job) for job in jobs]
    taken: set[tuple[int, str]] = set()
    for alias in dict.fromkeys(alias for _, alias in places):
        with joined(alias):
            queues = _jobs(alias).requeue_jobs([job_id for job_id, its in places if its == alias])
            notify_on_commit(sorted(set(queues.values())), alias=alias)
        taken |= {(job_id, alias) for job_id in queues}
    return [job for job, place in zip(jobs, places, strict=True) if place in taken]


def run_now(job: int | str | TaskResult[..., Any]) -> bool:
    """Make a scheduled job ready now, also one that waits for the delay of a retry; named as for `cancel`.

    Returns whether it was scheduled and is ready now; a job in any other state stays as it is. Part of the caller's
    transaction if there is one. Waits for whoever holds the row. Raises as `cancel` does.
    """
    job_id, alias = place_of_job(job)
    with joined(alias):
        queue = _jobs(alias).run_job_now(job_id)
        if queue is not None:
            notify_on_commit([queue], alias=alias)
    return queue is not None


def _cancel(job_id: int, alias: str) -> JobState | None:
    """Cancel the job or note the request; return its state then, None where there is no such job."""
    while True:
        with joined(alias):
            state = _jobs(alias).cancel_job(job_id)
            if state is JobState.RUNNING:
                notify_cancel_on_commit(job_id, alias=alias)
        # It had ended; unless somebody requeues it right now, this is how.
        if state is None and (state := _state(job_id, alias)) is not None and not state.is_terminal:
            continue
        return state


def _state(job_id: int, alias: str) -> JobState | None:
    state = _jobs(alias).filter(pk=job_id).values_list("state", flat=True).first()
    return None if state is None else JobState(state)


def _deadline(wait: float | None, alias: str) -> float:
    """Return until when to wait (monotonic seconds). Raises TypeError, ValueError, WaitInTransaction."""
    if wait is None:
        return 0.0
    if isinstance(wait, bool) or not isinstance(wait, (int, float)):
        raise TypeError(f"wait must be a number of seconds, not {describe(wait)}; leave it out for no wait.")
    if not 0 <= wait <= MAX_WAIT:
        raise ValueError(f"wait must be from 0 to {MAX_WAIT:,} seconds, not {describe(wait)}.")
    connection = connections[alias]
    if connection.in_atomic_block or not connection.get_autocommit():
        raise WaitInTransaction(alias)
    return time.monotonic() + wait


def place_of_job(job: Any) -> tuple[int, str]:
    """Return the id and the database of a job that is named as for `cancel`; a bare id's is CONVEYOR["DATABASE"].

    Raises TypeError or ValueError for what names no job of this project's databases.
    """
    if isinstance(job, TaskResult):
        job = job.id
    if isinstance(job, str):
        try:
            return place_of(job)
        except TaskResultDoesNotExist:
            raise ValueError(_refusal(job)) from None
    if isinstance(job, bool) or not isinstance(job, int):
        raise TypeError(_refusal(job))
    if not 1 <= job <= MAX_ID:
        raise ValueError(_refusal(job))
    return job, conveyor_settings().database


def _refusal(given: Any) -> str:
    aliases = conveyor_settings().databases
    return (
        f"{describe(given)} names no job of database {' or '.join(map(repr, aliases))}: "
        f"pass a job's int id, a TaskResult, or result.id, such as {result_id(aliases[0], 42)!r}."
    )


def _jobs(alias: str) -> JobManager:
    from .models import Job

    return Job.objects.db_manager(alias)
