"""A job that runs, or ran until its worker was lost."""

from __future__ import annotations

from typing import Final

from ...worker.quarantine import PATIENCE_SECONDS
from ..fleet import named
from ..wording import at, counted, lasting
from .answer import Code, Reason
from .locks import row_locked
from .scene import Scene
from .schedulers import without_scheduler

_RESCUED: Final = "a scheduler takes it back then, within a second or two"


def running(scene: Scene) -> list[Reason]:
    """Say who runs it, since when and until when; or that nobody does any more."""
    if scene.job.lease_expires_at is not None and scene.job.lease_expires_at < scene.now:
        return [_lapsed(scene), *row_locked(scene), *without_scheduler(scene)]
    return [*_cancelling(scene), *_alone(scene), _held(scene)]


def _lapsed(scene: Scene) -> Reason:
    owner = scene.job.lease_owner
    worker = scene.fleet.worker(owner)
    who = f"worker {owner}, which is gone," if worker is None else f"worker {named(worker)}"
    return Reason(
        Code.LEASE_LAPSED,
        f"{who} held it, but has not renewed the lease, which lapsed at {_lease_end(scene)}. It waits for its "
        "rescue, by any scheduler, within a second or two.",
        "Nothing, if a scheduler is at work. To take back all that this worker holds: "
        + scene.manage(f"conveyor_rescue {owner}"),
    )


def _held(scene: Scene) -> Reason:
    job = scene.job
    worker = scene.fleet.worker(job.lease_owner)
    run = f"attempt {job.attempt} of {job.max_attempts}"
    since = "" if job.claimed_at is None else (
        f" since {at(job.claimed_at)} ({lasting((scene.now - job.claimed_at).total_seconds())})"
    )  # fmt: skip
    if worker is None or scene.fleet.is_silent(worker):
        return Reason(
            Code.OWNER_GONE,
            f"its worker {job.lease_owner} {'is gone' if worker is None else 'is not seen any more'}, but its lease is "
            f"good until {_lease_end(scene)}: {_RESCUED}.",
            f"Nothing. To take it back now: {scene.manage(f'conveyor_rescue {job.lease_owner}')}",
        )
    return Reason(
        Code.RUNNING,
        f"it runs: worker {named(worker)} ({worker.incarnation}) has it{since}, {run}; its lease is good until "
        f"{_lease_end(scene)}, and is renewed while the worker lives.",
        f"Nothing; if it has died, a scheduler finds out. To stop the job: manage.py conveyor_cancel {scene.reference}",
    )


def _cancelling(scene: Scene) -> list[Reason]:
    asked = scene.job.cancel_requested_at
    if asked is None:
        return []
    grace = scene.fleet.settings.timeout_grace_seconds
    text = (
        f"its cancellation was requested at {at(asked)} ({lasting((scene.now - asked).total_seconds())} ago), and its "
        f"handler has not stopped yet. A handler that does not stop within {grace:g} s is ended with its process."
    )
    return [Reason(Code.CANCEL_REQUESTED, text, "Wait for that; what the handler is at, its worker's log says.")]


def _alone(scene: Scene) -> list[Reason]:
    """Say that it may wait within its process, claimed but not begun."""
    job = scene.job
    neighbours = scene.jobs.filter(state="running", lease_owner=job.lease_owner).exclude(pk=job.pk).count()
    if not job.lost_count or not neighbours:
        return []
    text = (
        f"{counted(job.lost_count, 'run')} of it were lost with the worker, so it runs without neighbours: its "
        f"process lets {counted(neighbours, 'other run')} end first. If they do not within {PATIENCE_SECONDS:g} s, "
        "it gives the job back."
    )
    return [Reason(Code.SUSPECT, text, "Nothing; a worker with free processes runs it sooner.")]


def _lease_end(scene: Scene) -> str:
    return "an unknown time" if scene.job.lease_expires_at is None else at(scene.job.lease_expires_at)
