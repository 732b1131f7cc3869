"""What the tests of claim_jobs under caps, keys and pauses share: jobs to claim, and claims as a worker makes them."""

from __future__ import annotations

import uuid

from conveyor_django.managers.exchange import Claim
from conveyor_django.models import Job

from ..support.factories import JobFactory
from .conftest import NOW


def look(owner: uuid.UUID, limit: int = 10, *queues: str) -> Claim:
    """Claim once."""
    return Job.objects.claim(owner=owner, queues=dict.fromkeys(queues or ("default",), 30.0), limit=limit, now=NOW)


def claim(owner: uuid.UUID, limit: int = 10, *queues: str) -> list[int]:
    """Claim as a worker does: again after missing permits were made or jobs parked; return the ids."""
    taken: list[int] = []
    while True:
        found = look(owner, limit - len(taken), *queues)
        taken += ids(found)
        if not found.unprovided and not found.parked:
            return taken
        Job.objects.make_permits(found.unprovided, now=NOW)


def ids(found: Claim) -> list[int]:
    """Return the ids of the jobs claimed."""
    return [job.id for job in found.jobs]


def jobs(count: int, **fields: object) -> list[Job]:
    """Make ready jobs, oldest first."""
    return [JobFactory(**fields) for _ in range(count)]


def keyed(count: int, key: str = "k", **fields: object) -> list[Job]:
    """Make ready jobs of one key."""
    return jobs(count, concurrency_key=key, **fields)


def parked() -> dict[int, str]:
    """Return why each parked job is so."""
    return dict(Job.objects.exclude(parked=None).values_list("pk", "parked"))


def end(*job_ids: int) -> None:
    """End runs, however."""
    Job.objects.filter(pk__in=job_ids).update(state="failed", lease_owner=None, lease_expires_at=None, finished_at=NOW)
