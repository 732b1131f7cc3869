"""Find the job, and ask by its state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ...compat import TaskResult
from ...control import place_of_job
from ...models import Job
from ...states import JobState
from ..fleet import read_fleet
from .answer import Code, Explanation, Reason
from .blocked import blocked
from .ended import cancelled, failed, succeeded
from .ready import ready
from .running import running
from .scene import Scene
from .scheduled import scheduled

if TYPE_CHECKING:
    from ..fleet import Fleet

_BY_STATE: Final[dict[JobState, Callable[[Scene], list[Reason]]]] = {
    JobState.BLOCKED: blocked,
    JobState.SCHEDULED: scheduled,
    JobState.READY: ready,
    JobState.RUNNING: running,
    JobState.SUCCEEDED: succeeded,
    JobState.FAILED: failed,
    JobState.CANCELLED: cancelled,
}


def explain(job: int | str | TaskResult[..., Any]) -> Explanation:
    """Say why a job is where it is, and what to do; named as for `cancel`, by its id, its result or its result's id.

    Changes nothing, and reads a bounded number of rows. Raises TypeError or ValueError for what names no job of this
    project's databases; database errors pass through.
    """
    job_id, alias = place_of_job(job)
    fleet = read_fleet(alias)
    row = Job.objects.using(alias).filter(pk=job_id).first()
    if row is None:
        return _no_such_job(job_id, fleet)
    return Explanation(
        id=job_id, database=alias, state=JobState(row.state), task=row.task, queue=row.queue, now=fleet.now,
        reasons=_BY_STATE[JobState(row.state)](Scene(row, fleet)),
    )  # fmt: skip


def _no_such_job(job_id: int, fleet: Fleet) -> Explanation:
    others = [alias for alias in fleet.settings.databases if alias != fleet.alias]
    elsewhere = f" If it lives in another database, name that: {others[0]}:{job_id}." if others else ""
    reason = Reason(
        Code.NO_SUCH_JOB,
        f"database {fleet.alias!r} has no job {job_id}: it was pruned after its retention, its enqueue was rolled back "
        f"or has not committed yet, or there never was one.",
        f"Correct the id.{elsewhere}",
    )
    return Explanation(id=job_id, database=fleet.alias, state=None, task="", queue="", now=fleet.now, reasons=[reason])
