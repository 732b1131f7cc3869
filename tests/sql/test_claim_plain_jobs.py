"""claim_plain_jobs: the everyday claim does what the whole one does, and knows what it may not decide."""

from __future__ import annotations

import datetime as dt
import uuid

import pytest

from conveyor_django.managers.exchange import Claim
from conveyor_django.models import Job
from conveyor_django.outcomes import Claimed

from ..support.factories import JobFactory, PausedTaskFactory, QueueFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db

QUEUES = {"a": 0.5, "b": 30.0, "default": 60.0}


def plain(owner: uuid.UUID, limit: int = 10) -> Claim:
    """Claim once."""
    return Job.objects.claim_plain_jobs(owner=owner, queues=QUEUES, limit=limit, now=NOW)


def ids(found: Claim) -> list[int]:
    """Return the ids of the jobs claimed."""
    return [job.id for job in found.jobs]


def backlog() -> list[Job]:
    """Make jobs of several queues and priorities, with and without a past."""
    return [
        JobFactory(
            queue=queue,
            priority=priority,
            lost_count=lost,
            attempt=1,
            lease_version=3,
            release_count=2,
            created_at=NOW - dt.timedelta(seconds=9 + priority),
            run_at=NOW - dt.timedelta(seconds=8),
        )
        for queue in ("b", "a", "default", "nobody's")
        for priority in (0, 5, -5)
        for lost in (0, 1)
    ]


def written(claimed: list[Claimed]) -> list[tuple[object, ...]]:
    """Return all that a claim writes, by job, the order of the answer included."""
    rows = Job.objects.in_bulk([job.id for job in claimed])
    return [
        (
            job.queue, job.version, job.attempt, job.lost_count, job.release_count, job.lease_seconds, job.args,
            job.waited_seconds, row.state, row.priority, row.lease_owner, row.lease_version, row.lease_expires_at,
            row.started_at, row.claimed_at, row.attempt, row.parked,
        )
        for job in claimed
        for row in [rows[job.id]]
    ]  # fmt: skip


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_it_does_what_the_whole_claim_does(owner: uuid.UUID, limit: int) -> None:
    backlog()
    by_plain = written(plain(owner, limit).jobs)
    Job.objects.all().delete()
    backlog()
    whole = Job.objects.claim(owner=owner, queues=QUEUES, limit=limit, now=NOW)
    assert by_plain == written(whole.jobs)
    assert len(by_plain) == min(limit, 18)


def test_without_now_the_database_s_clock_rules(owner: uuid.UUID, clock: Clock) -> None:
    job = JobFactory()
    with clock() as window:
        Job.objects.claim_plain_jobs(owner=owner, queues=QUEUES, limit=1)
    job.refresh_from_db()
    assert job.claimed_at in window


def test_a_keyed_job_is_left_in_line(owner: uuid.UUID) -> None:
    job, keyed = JobFactory(), JobFactory(concurrency_key="k")
    found = plain(owner)
    assert (ids(found), found.capped) == ([job.pk], True)
    keyed.refresh_from_db()
    assert (keyed.state, keyed.parked) == ("ready", None)


def test_a_keyed_job_that_stands_behind_the_limit_is_not_met(owner: uuid.UUID) -> None:
    JobFactory()
    JobFactory(concurrency_key="k")
    assert not plain(owner, 1).capped


@pytest.mark.parametrize("cap", ["soft_cap", "exact_cap"])
def test_a_queue_with_a_cap_is_left_alone(owner: uuid.UUID, cap: str) -> None:
    QueueFactory(name="a", **{cap: 5})
    JobFactory.create_batch(3, queue="a")
    other = JobFactory(queue="b")
    found = plain(owner)
    assert (ids(found), found.capped) == ([other.pk], True)


def test_a_queue_with_a_cap_and_no_jobs_says_nothing(owner: uuid.UUID) -> None:
    QueueFactory(name="a", exact_cap=5)
    QueueFactory(name="b", key_cap=5)
    JobFactory(queue="b")
    found = plain(owner)
    assert (len(found.jobs), found.capped) == (1, False)


def test_a_job_of_a_paused_task_is_left_alone(owner: uuid.UUID) -> None:
    PausedTaskFactory(task="paused")
    JobFactory(task="paused")
    other = JobFactory()
    found = plain(owner)
    assert (ids(found), found.capped) == ([other.pk], True)


def test_a_paused_queue_gives_and_says_nothing(owner: uuid.UUID) -> None:
    QueueFactory(name="a", paused=True, exact_cap=1)
    JobFactory(queue="a")
    assert plain(owner) == Claim()


def test_parked_jobs_are_not_in_line(owner: uuid.UUID) -> None:
    JobFactory(parked_by_key=True)
    JobFactory(parked_by_task=True)
    assert plain(owner) == Claim()


def test_a_limit_of_nothing_and_no_queues(owner: uuid.UUID) -> None:
    JobFactory()
    assert plain(owner, 0) == Claim()
    assert Job.objects.claim_plain_jobs(owner=owner, queues={}, limit=1) == Claim()
