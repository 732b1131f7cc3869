"""What was set that keeps a ready job from being claimed: pauses, caps, keys."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from django.db.models import Q

from ...models import Job, PausedTask, Permit
from ...states import JobState, Parked
from ..wording import at, counted, listed
from .answer import Code, Reason
from .scene import Scene
from .schedulers import without_scheduler

if TYPE_CHECKING:
    from django.db.models import QuerySet

# Jobs in line that are counted at most.
_COUNTED: Final = 10_000


def limits(scene: Scene) -> list[Reason]:
    """Say which pauses and caps are in force for it."""
    return [*_queue_paused(scene), *_task_paused(scene), *_queue_caps(scene), *_key_cap(scene)]


def ahead(scene: Scene) -> list[Reason]:
    """Say how many jobs of its queue, in line now, come before it."""
    job = scene.job
    if job.parked is not None or (count := _before(scene, Q(parked__isnull=True))) == 0:
        return []
    are = "is" if count == 1 else "are"
    text = f"{counted(count, 'job', bound=_COUNTED)} of its queue {are} in line before it, by priority and age."
    return [Reason(Code.AHEAD_IN_LINE, text, "Wait, or start more workers for this queue.")]


def _queue_paused(scene: Scene) -> list[Reason]:
    queue = scene.job.queue
    if not scene.settings.paused:
        return []
    text = f"its queue {queue!r} is paused: nothing of it is claimed."
    return [Reason(Code.QUEUE_PAUSED, text, f"Resume it: manage.py conveyor_resume {shlex.quote(queue)}")]


def _task_paused(scene: Scene) -> list[Reason]:
    job = scene.job
    paused = PausedTask.objects.using(scene.alias).filter(task=job.task).first()
    if paused is not None:
        parked = ", and this one was moved out of the way" if job.parked else ""
        text = f"its task has been paused since {at(paused.paused_at)}: no job of it is claimed{parked}."
        resume = f"Resume it: manage.py conveyor_resume --task {job.task}"
        return [Reason(Code.TASK_PAUSED, text, resume)]
    if job.parked == Parked.TASK:
        return _unparking(scene, "its task was paused, and is not any more")
    return []


def _queue_caps(scene: Scene) -> list[Reason]:
    queue, settings = scene.job.queue, scene.settings
    caps = [(Code.EXACT_CAP, "exact", settings.exact_cap), (Code.SOFT_CAP, "soft", settings.soft_cap)]
    if not any(cap for _, _, cap in caps):
        return []
    running = scene.jobs.filter(queue=queue, state=JobState.RUNNING).order_by("claimed_at")
    ids = list(running.values_list("pk", flat=True)[:_COUNTED])
    return [
        Reason(
            code,
            f"the {kind} cap of queue {queue!r} is {cap}, and {counted(len(ids), 'job', bound=_COUNTED)} of it run: "
            f"{listed(ids, most=10)}.",
            f"Wait for one of them to end, see why the oldest has not: {scene.explain(ids[0])}; or raise the cap: "
            + _python(f"set_caps({queue!r}, {kind}={cap + 1})"),
        )
        for code, kind, cap in caps
        if cap is not None and len(ids) >= cap
    ]


def _key_cap(scene: Scene) -> list[Reason]:
    job, cap = scene.job, scene.settings.key_cap or 1
    if job.concurrency_key is None:
        return []
    holders = _holders(scene)
    parked = job.parked == Parked.KEY
    before = _before(scene, Q(parked=Parked.KEY, concurrency_key=job.concurrency_key)) if parked else 0
    line = f"; {counted(before, 'parked job', bound=_COUNTED)} of the key come before it" if before else ""
    if len(holders) >= cap:
        text = (
            f"of its concurrency key {job.concurrency_key!r} at most {cap} run at once in queue {job.queue!r}, and "
            f"{listed(holders, most=10)} {'does' if len(holders) == 1 else 'do'}{line}."
        )
        remedy = f"Wait for one of them to end; see why it has not: {scene.explain(holders[0])}"
        return [Reason(Code.KEY_CAP, text, remedy)]
    if parked:
        return _unparking(
            scene, f"its concurrency key {job.concurrency_key!r} had no free place, and has one now{line}"
        )
    return []


def _holders(scene: Scene) -> list[int]:
    """Return the jobs that hold the permits of its key: runs that have not ended."""
    permits = Permit.objects.using(scene.alias).filter(queue=scene.job.queue, key=scene.job.concurrency_key)
    taken = set(permits.values_list("job_id", "lease_version"))
    running = scene.jobs.filter(pk__in=[job_id for job_id, _ in taken], state=JobState.RUNNING)
    return sorted(
        job_id for job_id, version in running.values_list("pk", "lease_version") if (job_id, version) in taken
    )


def _unparking(scene: Scene, why: str) -> list[Reason]:
    text = f"{why}: a worker or a scheduler puts it back in line, within a second or two."
    return [Reason(Code.PARKED, text, "Nothing; ask again in a few seconds."), *without_scheduler(scene)]


def _before(scene: Scene, line: Q) -> int:
    """Count the ready jobs of its queue in this line that come before it, up to a bound."""
    job = scene.job
    ready: Q = Q(queue=job.queue, state=JobState.READY) & line
    higher = scene.jobs.filter(ready, priority__gt=job.priority)
    older = scene.jobs.filter(ready, priority=job.priority, ready_seq__lt=job.ready_seq)
    return min(_COUNTED, sum(_bounded(jobs) for jobs in (higher, older)))


def _bounded(jobs: QuerySet[Job]) -> int:
    return jobs.order_by()[:_COUNTED].count()


def _python(call: str) -> str:
    name = call.split("(", 1)[0]
    return f'manage.py shell -c "from conveyor_django import {name}; {call}"'
