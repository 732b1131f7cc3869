"""The rescue of one worker process's jobs by hand: at once, where somebody knows that it is dead."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ..db import connect
from ..managers.recovery import queues_to_wake, take_over
from ..models import Job, Worker
from ..notify import notify_now
from ..states import JobState

if TYPE_CHECKING:
    from ..conf import ConveyorSettings
    from ..db import Connection
    from ..outcomes import Token

# Why its runs are lost, as their attempts say.
REASON: Final = "it was rescued by hand (conveyor_rescue)"
# Between two passes; and for how long sessions may come back, or rows be locked, before it is given up.
AGAIN_SECONDS: Final = 0.05
PATIENCE_SECONDS: Final = 30.0
# Of a process id.
_MOST_DIGITS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Who holds jobs on a database: a worker process, or an incarnation of which its leases alone are left."""

    alias: str
    incarnation: uuid.UUID
    worker: Worker | None

    def __str__(self) -> str:
        place = f" ({self.worker.host}, pid {self.worker.pid})" if self.worker else ""
        return f"{self.alias}: worker {self.incarnation}{place}"


@dataclass(slots=True, kw_only=True)
class Rescue:
    """What a rescue has done: the `sessions` that it ended, the jobs taken back by state, how many are `held` still."""

    owner: Owner
    sessions: int = 0
    jobs: Counter[JobState] = field(default_factory=Counter)
    held: int = 0
    done: bool = False


def owners_named(name: str, alias: str) -> list[Owner]:
    """Return the owners on a database that a name means: an incarnation's uuid, or ``host:pid``.

    A supervisor's pid means each of its processes. An incarnation without a row counts while it holds jobs.
    """
    if (incarnation := _as_uuid(name)) is None:
        return [Owner(alias=alias, incarnation=worker.pk, worker=worker) for worker in _workers_at(name, alias)]
    worker = Worker.objects.using(alias).filter(pk=incarnation).first()
    if worker is None and not Job.objects.db_manager(alias).count_held(owner=incarnation):
        return []
    return [Owner(alias=alias, incarnation=incarnation, worker=worker)]


def seems_alive(owner: Owner, settings: ConveyorSettings) -> bool:
    """Say whether a worker is seen alive, by what its scheduler goes by: its last beat, and its session lock.

    One look may fall into the moment in which it reconnects; so a lock is missed twice, as far apart as a scheduler's.
    Without a row it is dead: had it lived, it would have stopped when it missed the row.
    """
    workers = Worker.objects.db_manager(owner.alias)
    if not workers.filter(pk=owner.incarnation).exists():
        return False
    is_silent = workers.find_dead_workers().get(owner.incarnation)
    if is_silent is not False:
        return is_silent is None
    time.sleep(settings.scheduler_seconds / 2)
    return owner.incarnation not in workers.find_dead_workers()


def rescue(owner: Owner, settings: ConveyorSettings, *, forced: bool = False) -> Rescue:
    """End the owner's sessions, give back all that it holds, and forget it; again until nothing of it is left.

    In that order, so that nothing which it has in flight can commit afterwards (rule 7); what it sends later finds the
    fence. Every run that it had counts as lost, since nobody knows which had started; what it claims from then on, as
    one that lives may for a moment, is given back free. With `forced` it is forgotten first: one that lives learns from
    that, at its next beat, to stop. Not `done` where its sessions came back, or somebody had its jobs' rows locked, for
    PATIENCE_SECONDS. Database errors pass through.
    """
    report = Rescue(owner=owner)
    held = Job.objects.using(owner.alias).filter(state=JobState.RUNNING, lease_owner=owner.incarnation)
    runs: list[Token] = list(held.values_list("pk", "lease_version"))
    with connect(owner.alias, "conveyor rescue", lease_seconds=settings.lease_seconds) as on:
        if forced:
            Worker.objects.db_manager(owner.alias).deregister_worker(incarnation=owner.incarnation, on=on)
        until = time.monotonic() + PATIENCE_SECONDS
        while not _pass(report, runs, settings, on) and time.monotonic() < until:
            time.sleep(AGAIN_SECONDS)
    return report


def _pass(report: Rescue, runs: list[Token], settings: ConveyorSettings, on: Connection) -> bool:
    """Make one pass; say whether nothing is left."""
    alias = report.owner.alias
    taken = take_over(
        alias=alias, incarnation=report.owner.incarnation, settings=settings, reason=REASON, started=runs, on=on
    )
    notify_now(queues_to_wake(taken.rescued), alias=alias, on=on)
    # One that takes a moment to end is met by several passes.
    report.sessions = max(report.sessions, taken.sessions)
    report.jobs.update(job.state for job in taken.rescued)
    report.held, report.done = taken.held, taken.done
    return taken.done


def _workers_at(name: str, alias: str) -> list[Worker]:
    host, colon, pid = name.rpartition(":")
    if not colon or not pid.isdecimal() or len(pid) > _MOST_DIGITS:
        return []
    at_host = list(Worker.objects.using(alias).filter(host=host).order_by("started_at"))
    return [worker for worker in at_host if int(pid) in {worker.pid, worker.supervisor_pid}]


def _as_uuid(name: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(name)
    except ValueError:
        return None
