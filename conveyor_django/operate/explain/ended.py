"""A job that has ended: how, and which of its budgets was used up."""

from __future__ import annotations

from ...models import Dependency
from ...states import JobState, OnFailure, Verb
from ..wording import at, counted, listed
from .answer import Code, Reason
from .scene import Scene


def succeeded(scene: Scene) -> list[Reason]:
    """Say when."""
    job = scene.job
    return [Reason(Code.SUCCEEDED, f"it succeeded at {_ended_at(scene)}, in run {job.attempt + job.lost_count}.")]


def failed(scene: Scene) -> list[Reason]:
    """Say which budget was used up, and what its last run had to say."""
    job, error = scene.job, f" Its last run: {scene.last_error}" if scene.last_error else ""
    again = f"Mend the cause, then run it again with fresh budgets: manage.py conveyor_retry {scene.reference}"
    if scene.last_verb is Verb.RESCUE:
        text = (
            f"it failed at {_ended_at(scene)}: its worker died, froze or lost the database in "
            f"{counted(job.lost_count, 'run')} (CONVEYOR['MAX_LOST'] is {scene.fleet.settings.max_lost}).{error}"
        )
        remedy = f"See whether this job kills its process, by memory for one: look at the worker's log. {again}"
        return [Reason(Code.LOST_TOO_OFTEN, text, remedy)]
    if scene.last_verb is Verb.RELEASE:
        text = (
            f"it failed at {_ended_at(scene)}: workers gave it back {counted(job.release_count, 'time')} without an "
            f"outcome (CONVEYOR['MAX_RELEASES'] is {scene.fleet.settings.max_releases}).{error}"
        )
        return [Reason(Code.RELEASED_TOO_OFTEN, text, again)]
    if job.attempt < job.max_attempts:
        text = (
            f"it failed at {_ended_at(scene)} in attempt {job.attempt} of {job.max_attempts}: its error is not one "
            f"that is retried.{error}"
        )
        return [Reason(Code.FAILED_FOR_GOOD, text, again)]
    text = f"it failed at {_ended_at(scene)}: all of its {counted(job.max_attempts, 'attempt')} are used up.{error}"
    return [Reason(Code.ATTEMPTS_USED, text, again)]


def cancelled(scene: Scene) -> list[Reason]:
    """Say who wanted it."""
    again = f"To run it after all: manage.py conveyor_retry {scene.reference}"
    return [Reason(Code.CANCELLED, f"it was cancelled at {_ended_at(scene)}: {_who_cancelled(scene)}.", again)]


def _who_cancelled(scene: Scene) -> str:
    job = scene.job
    if job.cancel_requested_at is not None:
        ran = "while it ran" if scene.last_run is not None else "before it ran"
        return f"somebody asked for it at {at(job.cancel_requested_at)}, {ran}"
    if scene.last_verb is Verb.CANCEL:
        return f"its handler ended so: {scene.last_error}" if scene.last_error else "its handler ended so"
    needed = Dependency.objects.using(scene.alias).filter(
        job_id=job.pk, on_failure=OnFailure.CANCEL, needs__state__in=[JobState.FAILED, JobState.CANCELLED]
    )
    if culprits := list(needed.order_by("needs_id").values_list("needs_id", flat=True)[:100]):
        return f"a job that it needs failed or was cancelled ({listed(culprits)})"
    if job.workflow_role is not None:
        return f"its workflow {job.workflow_id} has ended in another way than {job.workflow_role}"
    return "by hand, or with its workflow"


def _ended_at(scene: Scene) -> str:
    finished = scene.job.finished_at
    return "an unknown time" if finished is None else at(finished)
