"""Claims against the reference: what was claimed might be, in its order; and nothing is left that might."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from conveyor_django.models import Job

from .entities import Queue
from .reference import Reference

if TYPE_CHECKING:
    from conveyor_django.db import Connection

LEASE: Final = 10.0
# More than all jobs of an example.
ALL: Final = 1000


def claim_once(
    model: Reference, connection: Connection, owner: UUID, queues: Sequence[str], limit: int, now: dt.datetime, *,
    plain: bool = False,
) -> int:  # fmt: skip
    """Claim up to `limit` jobs, as a worker does, and tell the reference; return how many left the line."""
    expected = _expected(model, queues, limit, plain=plain) if _is_simple(model, connection, queues) else None
    leases = dict.fromkeys(queues, LEASE)
    if plain:
        claim = Job.objects.claim_plain_jobs(owner=owner, queues=leases, limit=limit, now=now, on=connection)
        jobs = claim.jobs
    else:
        claim = Job.objects.claim(owner=owner, queues=leases, limit=limit, now=now, on=connection)
        jobs = claim.jobs
        if claim.unprovided:
            Job.objects.make_permits(claim.unprovided, now=now, on=connection)
        if claim.unprovided and len(jobs) < limit:
            jobs += Job.objects.claim_jobs(
                owner=owner, queues=leases, limit=limit - len(jobs), now=now, on=connection
            )  # fmt: skip
    assert len(jobs) <= limit
    for claimed in jobs:
        job = model.jobs[claimed.id]
        assert not (plain and (job.concurrency_key or model.queues.get(job.queue, Queue()).exact_cap))
        model.claim(job, owner, LEASE, now)
        assert (claimed.version, claimed.attempt, claimed.lost_count) == (job.version, job.attempt, job.lost)
    assert expected is None or {job.id for job in jobs} == expected
    return len(jobs) + len(claim.parked)


def claim_everything(
    model: Reference, connection: Connection, owner: UUID, queues: Sequence[str], now: dt.datetime
) -> None:
    """Claim until nothing comes and nothing makes way any more, and look whether that is all that may run."""
    unpark(connection)
    while claim_once(model, connection, owner, queues, ALL, now):
        unpark(connection)
    left = [job.id for queue in queues for job in model.line(queue) if model.may_run(job)]
    assert not left, f"nobody claims {left}"


def unpark(connection: Connection) -> None:
    """Do what the scheduler does for jobs that had made way."""
    Job.objects.unpark_tasks(limit=ALL, on=connection)
    Job.objects.unpark_jobs(Job.objects.list_parked_keys(limit=ALL, on=connection), on=connection)


def _is_simple(model: Reference, connection: Connection, queues: Sequence[str]) -> bool:
    """Say whether it is clear which jobs a claim brings: none has to make way for others, or has done so."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM conveyor_job WHERE parked IS NOT NULL")
        parked = cursor.fetchone()
    keyed = any(job.concurrency_key or job.task in model.paused_tasks for queue in queues for job in model.line(queue))
    return parked == (0,) and not keyed


def _expected(model: Reference, queues: Sequence[str], limit: int, *, plain: bool) -> set[int]:
    """Return the first of each queue, as many as may run, the queues in turn."""
    seen: list[tuple[int, bool]] = []
    for name in queues:
        queue, room = model.queues.get(name, Queue()), limit
        if queue.paused:
            room = 0
        elif queue.exact_cap is not None:
            # A plain claim looks at one job only, and leaves it to the whole claim.
            room = 1 if plain else min(limit, max(0, queue.exact_cap - model.running(name)))
        seen += [(job.id, plain and queue.exact_cap is not None) for job in model.line(name)[:room]]
    return {job_id for job_id, left in seen[:limit] if not left}
