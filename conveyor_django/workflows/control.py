"""What a person or a program may do to a whole workflow: cancel it, run it again."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from django.db import transaction

from ..conf import MAX_ID, conveyor_settings
from ..errors import InvalidWorkflow, describe
from ..managers.release import follow_up
from ..notify import notify_now, notify_on_commit
from ..results import result_id
from ..states import WAITING, JobState
from ..transactions import joined

if TYPE_CHECKING:
    from ..managers.workflows import WorkflowManager

# Of a callback: not blocked any more, and not ended.
_RELEASED: Final = (WAITING | {JobState.RUNNING}) - {JobState.BLOCKED}
_KEY: Final = re.compile(r"(?P<alias>.+):(?P<id>[1-9][0-9]{0,18})", re.ASCII | re.DOTALL)


def cancel_workflow(workflow: int | str) -> dict[int, JobState]:
    """Cancel all of a workflow that has not ended; named by its id or its key ("default:42").

    Returns the jobs that it reached: `cancelled` where they waited, `running` where they run and the request was
    noted. The callbacks are not cancelled: they run when the last job has ended. In the caller's transaction if there
    is one; waits for whoever holds a row. Raises TypeError or ValueError for what names no workflow, InvalidWorkflow,
    which is a ValueError, where there is none of that id.
    """
    alias, workflow_id = workflow_of(workflow)
    manager = _workflows(alias)
    with joined(alias):
        if not manager.lock_workflow(workflow_id):
            raise no_such(workflow_id, alias)
        reached = manager.cancel_workflow(workflow_id)
        ended = [job_id for job_id, state in reached.items() if state == JobState.CANCELLED]
        _release_on_commit(alias, ended, workflow_id)
    return reached


def retry_workflow(workflow: int | str) -> list[int]:
    """Run the failed and cancelled jobs of a workflow again, with fresh budgets; named as for `cancel_workflow`.

    Those that need one another wait again in that order; what has succeeded is not repeated. Callbacks that failed or
    were cancelled wait for the workflow again. Returns the ids of the jobs that run again, callbacks aside. In the
    caller's transaction if there is one; waits for whoever holds a row. Raises as `cancel_workflow` does, and
    InvalidWorkflow where a callback of the end that is undone has not ended yet.
    """
    alias, workflow_id = workflow_of(workflow)
    manager = _workflows(alias)
    with joined(alias):
        if not manager.lock_workflow(workflow_id):
            raise no_such(workflow_id, alias)
        again = manager.retry_workflow(manager.lock_dead_jobs(workflow_id))
        if any(not job.is_callback for job in again):
            _refuse_open_callback(workflow_id, alias)
        notify_on_commit(sorted({job.queue for job in again if job.state == JobState.READY}), alias=alias)
        # Where only a callback runs again, there is no job whose end would finish the workflow.
        _release_on_commit(alias, [], workflow_id)
    return sorted(job.id for job in again if not job.is_callback)


def workflow_of(given: Any) -> tuple[str, int]:
    """Return (alias, id) of a workflow's id or key. Raises TypeError or ValueError."""
    settings = conveyor_settings()
    if isinstance(given, str):
        match = _KEY.fullmatch(given)
        if match is None or match["alias"] not in settings.databases or int(match["id"]) > MAX_ID:
            raise ValueError(_refusal(given))
        return match["alias"], int(match["id"])
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(_refusal(given))
    if not 1 <= given <= MAX_ID:
        raise ValueError(_refusal(given))
    return settings.database, given


def no_such(workflow_id: int, alias: str) -> InvalidWorkflow:
    """Return the error for the id of no workflow."""
    return InvalidWorkflow(
        f"there is no workflow {workflow_id} on database {alias!r}: it was never stored there, or its jobs' retention "
        f"is over. Take the id or the key that its block gave, as wf.key."
    )


def _refusal(given: Any) -> str:
    alias = conveyor_settings().database
    return f"{describe(given)} names no workflow: pass its int id, or its key, such as {result_id(alias, 42)!r}."


def _refuse_open_callback(workflow_id: int, alias: str) -> None:
    """Raise InvalidWorkflow where a callback was released and has not ended: it is of the end that is undone."""
    from ..models import Job

    callbacks = Job.objects.using(alias).filter(workflow_id=workflow_id, workflow_role__isnull=False)
    released = callbacks.filter(state__in=_RELEASED).order_by("pk").values_list("pk", "workflow_role", "state")
    if (open_one := released.first()) is not None:
        job_id, role, state = open_one
        raise InvalidWorkflow(
            f"workflow {workflow_id} cannot be run again yet: its {role} callback, job {job_id} ({state}), has not "
            f"ended. Wait for it, or cancel it first."
        )


def _release_on_commit(alias: str, ended: Collection[int], workflow_id: int) -> None:
    transaction.on_commit(partial(_release, alias, ended, workflow_id), using=alias, robust=True)


def _release(alias: str, ended: Collection[int], workflow_id: int) -> None:
    with joined(alias):
        queues = follow_up(alias=alias, ended=ended, workflows=[workflow_id])
    if queues:
        notify_now(sorted(queues), alias=alias)


def _workflows(alias: str) -> WorkflowManager:
    from ..models import Workflow

    return Workflow.objects.db_manager(alias)
