"""A job whose time has not come, or has come and nobody has seen it."""

from __future__ import annotations

from typing import Final

from ...errors import UnknownTask
from ...states import Verb
from ..wording import at, counted, lasting
from .answer import Code, Reason
from .locks import row_locked
from .scene import Scene
from .schedulers import without_scheduler

UNKNOWN_TASK: Final = f"{UnknownTask.__module__}.{UnknownTask.__qualname__}"


def scheduled(scene: Scene) -> list[Reason]:
    """Say until when it waits, and for what."""
    due_in = (scene.job.run_at - scene.now).total_seconds()
    if due_in <= 0:
        return [_due(scene, -due_in), *row_locked(scene), *without_scheduler(scene)]
    reason = _WAITS.get(scene.last_verb or Verb.ENQUEUE, _scheduled)(
        scene, f"until {at(scene.job.run_at)}, in {lasting(due_in)}"
    )
    # Said before its time comes: it will not be seen then either.
    return [reason, *without_scheduler(scene)]


def _due(scene: Scene, overdue: float) -> Reason:
    return Reason(
        Code.DUE,
        f"it has been due since {at(scene.job.run_at)} ({lasting(overdue)}), and a scheduler has to make it ready: "
        f"that takes about {scene.fleet.settings.scheduler_seconds:g} s.",
        "Nothing, if a scheduler is at work; ask again in a few seconds.",
    )


def _scheduled(scene: Scene, until: str) -> Reason:  # noqa: ARG001 - one of several
    return Reason(Code.SCHEDULED, f"it is not to run before its time: {until}.", "Wait for it.")


def _retry(scene: Scene, until: str) -> Reason:
    job = scene.job
    text = (
        f"attempt {job.attempt} of {job.max_attempts} failed, and the next one waits for its delay {until}. The error: "
        f"{scene.last_error or 'unknown'}"
    )
    return Reason(Code.RETRY_DELAY, text, "Wait for it, or mend the cause meanwhile.")


def _snooze(scene: Scene, until: str) -> Reason:
    return Reason(
        Code.SNOOZED, f"its handler put it off {until}. Its word: {scene.last_error or 'none'}", "Wait for it."
    )


def _release(scene: Scene, until: str) -> Reason:
    job, run = scene.job, scene.last_run
    times = f"given back {counted(job.release_count, 'time')}; after {scene.fleet.settings.max_releases} it fails"
    if run is not None and run.error_class == UNKNOWN_TASK:
        worker = scene.fleet.worker(run.owner)
        who = (
            f"a worker that has ended since ({run.owner})"
            if worker is None
            else f"the live worker {worker.host}:{worker.pid}"
        )
        return Reason(
            Code.TASK_UNKNOWN,
            f"{who} does not know its task, so it waits {until} ({times}). The reason: {run.message}",
            f"Deploy the code that defines {job.task} to the workers, and restart them; or cancel the job: "
            f"manage.py conveyor_cancel {scene.reference}",
        )
    if job.lost_count:
        text = (
            f"{counted(job.lost_count, 'run')} of it were lost with the worker, so it runs without neighbours. They "
            f"did not end, so it waits {until} ({times}): {scene.last_error or 'for no known reason'}"
        )
        return Reason(
            Code.SUSPECT, text, "Nothing; a worker with idle processes, or one with --concurrency 1, runs it sooner."
        )
    text = f"its worker could not finish it, so it waits {until} ({times}): {scene.last_error or 'unknown'}"
    return Reason(Code.RELEASED, text, "Wait for it; if it comes again, see the worker's log for the reason.")


# By how its newest run ended.
_WAITS: Final = {Verb.RETRY: _retry, Verb.SNOOZE: _snooze, Verb.RELEASE: _release}
