"""Whether workers are there for a ready job, have room for it, hear of it, and know its task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from django.db.models import Count, Q

from ...errors import UnknownTask
from ...models import Attempt, Worker
from ...registry import resolve_task
from ...states import JobState, Verb
from ..fleet import named, serves
from ..wording import counted, lasting, listed
from .answer import Code, Reason
from .scene import Scene
from .scheduled import UNKNOWN_TASK

if TYPE_CHECKING:
    import uuid

# The newest Attempt rows, in which it is looked up which tasks live workers do not know.
_NEWEST: Final = 1000


def serving(scene: Scene) -> list[Worker]:
    """Return the live workers that take jobs of its queue and do not drain."""
    return [worker for worker in scene.fleet.claiming if serves(worker, scene.job.queue)]


def workers(scene: Scene) -> list[Reason]:
    """Say why no worker claims it now, as far as that is the workers' affair."""
    ready = serving(scene)
    return _no_room(scene, ready) if ready else [_nobody(scene)]


def _nobody(scene: Scene) -> Reason:
    queue, live = scene.job.queue, scene.fleet.live
    start = "Start one: " + scene.manage(f"conveyor_worker --queues {queue}")
    if not live:
        silent = [named(worker) for worker in scene.fleet.workers]
        more = f" Not seen for longer than their lease: {listed(silent)}." if silent else ""
        return Reason(Code.NO_WORKER, f"no worker of database {scene.alias!r} is alive.{more}", start)
    mine = [worker for worker in live if serves(worker, queue)]
    if mine:
        text = (
            f"{listed(map(named, mine))}, all that take jobs of queue {queue!r}, are draining: they claim nothing more."
        )
        return Reason(Code.WORKERS_DRAINING, text, start)
    served = sorted({name for worker in live for name in worker.queues})
    text = (
        f"no live worker takes jobs of queue {queue!r}: {counted(len(live), 'worker')} "
        f"{'serves' if len(live) == 1 else 'serve'} {listed(map(repr, served))}."
    )
    return Reason(Code.QUEUE_WITHOUT_WORKER, text, start)


def _no_room(scene: Scene, ready: Sequence[Worker]) -> list[Reason]:
    """Say so where each worker is full, or lets nothing run beside a job that was lost before."""
    held = _held(scene, ready)
    full = [worker for worker in ready if held.get(worker.incarnation, (0, 0))[0] >= worker.slots]
    barred = [worker for worker in ready if held.get(worker.incarnation, (0, 0))[1]]
    if len({worker.incarnation for worker in [*full, *barred]}) < len(ready):
        return []
    reasons = []
    if barred:
        text = (
            f"{listed(map(named, barred))} {'has' if len(barred) == 1 else 'have'} a job that was lost before, which "
            "runs without neighbours: until it has ended they claim nothing."
        )
        reasons.append(
            Reason(Code.WORKERS_WITH_SUSPECT, text, f"Wait for it, or start another worker. {_oldest(scene, barred)}")
        )
    if full:
        slots = sum(worker.slots for worker in full)
        text = f"all {slots} slots of {listed(map(named, full))} are in use."
        reasons.append(
            Reason(Code.SLOTS_IN_USE, text, f"Wait, start more workers, or raise --concurrency. {_oldest(scene, full)}")
        )
    return reasons


def _held(scene: Scene, ready: Sequence[Worker]) -> dict[uuid.UUID | None, tuple[int, int]]:
    """Return how many jobs each worker holds, and how many of them were lost before."""
    running = scene.jobs.filter(state=JobState.RUNNING, lease_owner__in=[worker.incarnation for worker in ready])
    counts = running.values("lease_owner").annotate(jobs=Count("pk"), suspects=Count("pk", filter=Q(lost_count__gt=0)))
    return {row["lease_owner"]: (row["jobs"], row["suspects"]) for row in counts}


def _oldest(scene: Scene, ready: Sequence[Worker]) -> str:
    """Return what has run for the longest time there, as a sentence."""
    owners = [worker.incarnation for worker in ready]
    oldest = scene.jobs.filter(state=JobState.RUNNING, lease_owner__in=owners).order_by("claimed_at").first()
    if oldest is None or oldest.claimed_at is None:
        return ""
    age = lasting((scene.now - oldest.claimed_at).total_seconds())
    return f"The longest run there, job {oldest.pk} ({oldest.task}), has taken {age}."


def suspect(scene: Scene) -> list[Reason]:
    """Say that it will run without neighbours."""
    lost = scene.job.lost_count
    if not lost:
        return []
    text = (
        f"{counted(lost, 'run')} of it {'was' if lost == 1 else 'were'} lost with the worker, so it runs without "
        "neighbours: a process that claims it lets its other runs end first, or gives it back. At "
        f"{scene.fleet.settings.max_lost} lost runs it fails."
    )
    return [
        Reason(
            Code.SUSPECT, text, "Nothing; a worker with idle processes, or one with --concurrency 1, runs it sooner."
        )
    ]


def unknown_task(scene: Scene) -> list[Reason]:
    """Say that its task is unknown: to live workers, by what they gave back lately, or to the code that asks."""
    job = scene.job
    deploy = (
        f"Deploy the code that defines {job.task}, and restart the workers; or: manage.py conveyor_cancel "
        f"{scene.reference}"
    )
    if given_back := _given_back_as_unknown(scene):
        owners = {run.owner for run in given_back}
        who = listed(named(worker) for worker in scene.fleet.live if worker.incarnation in owners)
        text = f"{who} did not know its task: {given_back[0].message}"
        return [Reason(Code.TASK_UNKNOWN, text, deploy)]
    try:
        resolve_task(job.task)
    except UnknownTask as error:
        text = (
            f"the code that answers this does not know its task ({error.reason}); workers that run it too will "
            "not run this job."
        )
        return [Reason(Code.TASK_UNKNOWN, text, deploy)]
    return []


def _given_back_as_unknown(scene: Scene) -> list[Attempt]:
    """Return what live workers, which do not know the task, gave back of it: among the newest Attempt rows."""
    attempts = Attempt.objects.using(scene.alias)
    newest = attempts.order_by("-pk").values_list("pk", flat=True).first() or 0
    live = [worker.incarnation for worker in scene.fleet.live]
    unknown = attempts.filter(
        pk__gt=newest - _NEWEST, owner__in=live, verb=Verb.RELEASE, error_class=UNKNOWN_TASK, job__task=scene.job.task
    )
    return list(unknown.order_by("-pk")[:_NEWEST])


def deaf(scene: Scene) -> list[Reason]:
    """Say that none of its workers is told of jobs, so that each finds them by its poll."""
    reasons = {named(worker): scene.fleet.deafness(worker) for worker in serving(scene)}
    if not reasons or None in reasons.values():
        return []
    why = listed(f"{name}: {reason}" for name, reason in reasons.items())
    text = (
        f"no worker for it is told of new jobs ({why}): it is found by the next poll, each "
        f"{scene.fleet.settings.poll_seconds:g} s unless --poll says otherwise."
    )
    return [
        Reason(
            Code.LISTENER_DEAF, text, "Look into the worker's log for listener.deaf, and ask manage.py conveyor_doctor."
        )
    ]
