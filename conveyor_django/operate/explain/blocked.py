"""A job that waits for other jobs."""

from __future__ import annotations

from collections import Counter
from typing import Final

from ...models import Dependency
from ...states import TERMINAL, JobState
from ..wording import counted, listed
from .answer import Code, Reason
from .scene import Scene
from .schedulers import without_scheduler

# Jobs that are read at most, of one level and on the way to the bottom.
_READ: Final = 1000
_SHOWN: Final = 20


def blocked(scene: Scene) -> list[Reason]:
    """Say which jobs it waits for, and what those wait for."""
    if scene.job.workflow_role is not None:
        return _callback(scene)
    needed = _needed(scene, [scene.job.pk])
    if not needed:
        return [_stuck("nothing that it waits for is known")]
    open_jobs = {job_id: state for job_id, state in needed.items() if state is not None and state not in TERMINAL}
    late = sorted(needed.keys() - open_jobs.keys())
    reasons = []
    if open_jobs:
        reasons.append(_waits(scene, open_jobs))
    if late:
        reasons += [_late(late), *without_scheduler(scene)]
    return [*reasons, *_failed_needs(scene)]


def _needed(scene: Scene, job_ids: list[int]) -> dict[int, JobState | None]:
    """Return the jobs to which these have an open edge, with their states; None for one whose row is gone."""
    edges = Dependency.objects.using(scene.alias).filter(job_id__in=job_ids, resolved=False)
    ids = list(edges.order_by("needs_id").values_list("needs_id", flat=True)[:_READ])
    states = dict(scene.jobs.filter(pk__in=ids).values_list("pk", "state"))
    return {job_id: JobState(states[job_id]) if job_id in states else None for job_id in ids}


def _waits(scene: Scene, open_jobs: dict[int, JobState]) -> Reason:
    shown = listed((f"{job_id} ({state.value})" for job_id, state in open_jobs.items()), most=_SHOWN)
    text = f"it waits for {counted(len(open_jobs), 'job', bound=_READ)} to end: {shown}."
    first = next(iter(open_jobs))
    if JobState.BLOCKED in open_jobs.values():
        bottom = _bottom(scene, open_jobs)
        text += (
            f" Of these some wait themselves; the first to end {'is' if len(bottom) == 1 else 'are'} {listed(bottom)}."
        )
        first = next(iter(bottom), first)
    return Reason(Code.WAITS_FOR_JOBS, text, f"See why that has not ended: {scene.explain(first)}")


def _bottom(scene: Scene, open_jobs: dict[int, JobState]) -> list[int]:
    """Return the jobs at the other end of all the waiting: none of them waits for a job itself."""
    bottom = {job_id for job_id, state in open_jobs.items() if state is not JobState.BLOCKED}
    seen = set(open_jobs)
    blocked_ids = sorted(seen - bottom)
    # Edges lead to older jobs only, so this ends; the bound is for the reader's patience.
    while blocked_ids and len(seen) < _READ:
        found = {job_id: state for job_id, state in _needed(scene, blocked_ids).items() if job_id not in seen}
        seen |= found.keys()
        bottom |= {job_id for job_id, state in found.items() if state not in {JobState.BLOCKED, None, *TERMINAL}}
        blocked_ids = sorted(job_id for job_id, state in found.items() if state is JobState.BLOCKED)
    return sorted(bottom)


def _late(ids: list[int]) -> Reason:
    return Reason(
        Code.WAITS_FOR_SWEEP,
        f"it waits for what has ended or is gone ({listed(ids)}), and has not been told: the sweep of a scheduler "
        "does that within a second or two.",
        "Nothing, if a scheduler is at work. To do it now: manage.py conveyor_stuck --sweep",
    )


def _failed_needs(scene: Scene) -> list[Reason]:
    """Say which of those that it needs have failed, where that does not keep it from going on."""
    edges = Dependency.objects.using(scene.alias).filter(
        job_id=scene.job.pk, needs__state__in=[JobState.FAILED, JobState.CANCELLED]
    )
    ended = list(edges.order_by("needs_id").values_list("needs_id", "needs__state", "on_failure")[:_SHOWN])
    if not ended:
        return []
    shown = listed((f"{job_id} ({state}, on_failure={policy})" for job_id, state, policy in ended), most=_SHOWN)
    again = f"manage.py conveyor_retry {scene.alias}:{ended[0][0]}"
    return [
        Reason(
            Code.NEEDED_JOB_FAILED,
            f"of the jobs that it needs, these have not succeeded: {shown}.",
            f"See why: {scene.explain(ended[0][0])}; to run one again: {again}",
        )
    ]


def _callback(scene: Scene) -> list[Reason]:
    job = scene.job
    members = scene.jobs.filter(workflow=job.workflow_id or 0, workflow_role__isnull=True)
    # Sorted here: sorted by the database, a plan may look for them among all jobs, from the oldest on.
    going = sorted(members.filter(state__in=set(JobState) - TERMINAL).order_by().values_list("pk", "state")[:_READ])
    if not going:
        return [_stuck(f"every job of its workflow {job.workflow_id} has ended"), *without_scheduler(scene)]
    states = ", ".join(f"{count} {state}" for state, count in sorted(Counter(state for _, state in going).items()))
    text = (
        f"it is the {job.workflow_role} callback of workflow {job.workflow_id}, and waits for the end of "
        f"{counted(len(going), 'job', bound=_READ)} of it ({states})."
    )
    return [Reason(Code.WAITS_FOR_WORKFLOW, text, f"See why the first has not ended: {scene.explain(going[0][0])}")]


def _stuck(why: str) -> Reason:
    return Reason(
        Code.STUCK,
        f"it is blocked, but {why}: if a scheduler's sweep does not release it within a second or two, nothing will.",
        "manage.py conveyor_stuck --sweep; if it is still listed then, cancel and requeue it.",
    )
