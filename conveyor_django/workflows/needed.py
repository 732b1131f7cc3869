"""What became of the jobs that a job needs: for its handler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..outcomes import ErrorInfo
from ..states import JobState, OnFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """A job that was needed: `name` is its name in the workflow, its id as text where it has none.

    `result` is what its handler returned, None where it did not succeed. `error` is that of its last run, None where
    it succeeded or never ran. `state` is None where its row is gone.
    """

    name: str
    job_id: int
    state: JobState | None
    result: Any = None
    error: ErrorInfo | None = None


def needed_by(job_id: int, *, alias: str) -> dict[str, Needed]:
    """Return {name: Needed} of the jobs that a job needs, the oldest first; one query.

    One that did not succeed is left out where the job said to ignore that.
    """
    from ..models import Workflow

    found: dict[str, Needed] = {}
    for row in Workflow.objects.db_manager(alias).list_needed(job_id):
        if row.on_failure is OnFailure.IGNORE and row.state is not JobState.SUCCEEDED:
            continue
        name = row.name if row.name is not None and row.name not in found else str(row.id)
        error = None
        if row.error_class is not None:
            error = ErrorInfo(error_class=row.error_class, message=row.message or "")
        found[name] = Needed(name=name, job_id=row.id, state=row.state, result=row.result, error=error)
    return found


def results_of(needed: Mapping[str, Needed]) -> dict[str, Any]:
    """Return {name: result} of those that succeeded."""
    return {name: job.result for name, job in needed.items() if job.state is JobState.SUCCEEDED}
