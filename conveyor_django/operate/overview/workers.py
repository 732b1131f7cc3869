"""Workers: which are alive, and what they run."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ...models import Worker
from ..answers import Answer
from .moment import Moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...managers.overview import Held

# Runs of one worker that are listed, those that have run longest.
SHOWN: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Answer):
    """A job that a worker runs: which run of it that is, since when, and until when its lease holds."""

    job_id: int
    task: str
    queue: str
    number: int
    claimed_at: dt.datetime
    seconds: float
    lease_expires_at: dt.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveWorker(Answer):
    """A worker process whose row is there; `alive` says whether it was seen within its lease.

    `queues` is empty for one that takes every queue. `runs` are the SHOWN longest of the `running` ones.
    """

    incarnation: uuid.UUID
    host: str
    pid: int
    supervisor_pid: int
    queues: tuple[str, ...]
    slots: int
    running: int
    runs: tuple[Run, ...]
    alive: bool
    draining: bool
    holds_lock: bool
    lease_seconds: float
    started_at: dt.datetime
    last_seen: dt.datetime
    # Since then, in seconds.
    seen_seconds: float

    def serves(self, queue: str) -> bool:
        """Say whether it takes the queue's jobs."""
        return not self.queues or queue in self.queues


def workers(moment: Moment) -> tuple[LiveWorker, ...]:
    """Return the worker processes, by host and pid."""
    runs: dict[uuid.UUID, list[Held]] = {}
    for held in moment.statements().list_runs(limit=moment.counted, shown=SHOWN):
        runs.setdefault(held.owner, []).append(held)
    rows = Worker.objects.using(moment.alias).order_by("host", "pid", "incarnation")
    return tuple(_view(row, runs.get(row.incarnation, ()), moment) for row in rows)


def _view(row: Worker, held: Sequence[Held], moment: Moment) -> LiveWorker:
    seen = moment.seconds_since(row.last_seen)
    return LiveWorker(
        incarnation=row.incarnation, host=row.host, pid=row.pid, supervisor_pid=row.supervisor_pid,
        queues=tuple(row.queues), slots=row.slots, running=held[0].held if held else 0,
        runs=tuple(_run(one, moment) for one in held), alive=seen <= row.lease_seconds, draining=row.draining,
        holds_lock=row.holds_lock, lease_seconds=row.lease_seconds, started_at=row.started_at,
        last_seen=row.last_seen, seen_seconds=seen,
    )  # fmt: skip


def _run(held: Held, moment: Moment) -> Run:
    return Run(
        job_id=held.job_id, task=held.task, queue=held.queue, number=held.number, claimed_at=held.claimed_at,
        seconds=moment.seconds_since(held.claimed_at), lease_expires_at=held.lease_expires_at,
    )  # fmt: skip
