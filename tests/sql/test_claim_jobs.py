"""claim_jobs: who gets which jobs, in which order, for how long."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable

import pytest

from conveyor_django.models import Job
from conveyor_django.outcomes import Claimed

from ..support.factories import JobFactory, QueueFactory, new_job
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


def claim(owner: uuid.UUID, limit: int = 10, **queues: float) -> list[Claimed]:
    """Claim from the queues named, `default` for 30 seconds if none is."""
    return Job.objects.claim_jobs(owner=owner, queues=queues or {"default": 30.0}, limit=limit, now=NOW)


def ids(jobs: Iterable[Claimed] | Iterable[Job]) -> list[int]:
    """Return the ids of jobs."""
    return [job.id for job in jobs]


def test_the_row_is_leased(owner: uuid.UUID) -> None:
    job = JobFactory(attempt=1, lease_version=4, release_count=2, lost_count=1)
    claim(owner)
    job.refresh_from_db()
    assert (job.state, job.attempt, job.lease_version) == ("running", 2, 5)
    assert (job.lease_owner, job.lease_expires_at) == (owner, NOW + dt.timedelta(seconds=30))
    assert (job.started_at, job.claimed_at, job.finished_at) == (NOW, NOW, None)
    assert (job.lost_count, job.release_count) == (1, 2)


def test_the_answer_holds_all_that_a_worker_needs(owner: uuid.UUID) -> None:
    job = JobFactory(
        task="shop.tasks.charge", lost_count=1, release_count=2, max_attempts=7, lease_version=3,
        created_at=NOW - dt.timedelta(hours=1), run_at=NOW - dt.timedelta(seconds=2.5),
        payload__args=[1, "é"], payload__kwargs={"a": None},
    )  # fmt: skip
    assert claim(owner) == [
        Claimed(
            id=job.id, version=4, queue="default", task="shop.tasks.charge", args='[1, "é"]',
            kwargs='{"a": null}', attempt=1, max_attempts=7, lost_count=1, release_count=2, lease_seconds=30.0,
            created_at=job.created_at, waited_seconds=2.5,
        )
    ]  # fmt: skip


def test_the_first_start_is_kept(owner: uuid.UUID) -> None:
    first = NOW - dt.timedelta(days=1)
    job = JobFactory(started_at=first)
    claim(owner)
    job.refresh_from_db()
    assert (job.started_at, job.claimed_at) == (first, NOW)


def test_without_now_the_database_s_clock_rules(owner: uuid.UUID, clock: Clock) -> None:
    job = JobFactory()
    with clock() as window:
        Job.objects.claim_jobs(owner=owner, queues={"default": 30.0}, limit=1)
    job.refresh_from_db()
    assert job.claimed_at in window
    assert job.lease_expires_at in window + 30


@pytest.mark.parametrize("state", ["blocked", "scheduled", "running", "succeeded", "failed", "cancelled"])
def test_only_ready_jobs_are_claimed(owner: uuid.UUID, state: str) -> None:
    JobFactory(**{state: True})
    assert claim(owner) == []


def test_priority_then_age(owner: uuid.UUID) -> None:
    low, old, new, high = (JobFactory(priority=priority) for priority in (-100, 0, 0, 100))
    assert ids(claim(owner)) == ids([high, old, new, low])


def test_age_is_the_order_of_getting_ready_not_of_ids(owner: uuid.UUID) -> None:
    first, second = JobFactory(), JobFactory()
    Job.objects.filter(pk=first.pk).update(ready_seq=second.ready_seq + 1)
    assert ids(claim(owner)) == ids([second, first])


@pytest.mark.parametrize("keyed", [False, True])
def test_a_bulk_is_claimed_in_the_order_it_was_given(owner: uuid.UUID, keyed: bool) -> None:
    # Keys in reverse: the insert goes by key, the order of work must not.
    jobs = [new_job(args=f"[{n}]", idempotency_key=f"{9 - n}" if keyed else None) for n in range(10)]
    Job.objects.enqueue_jobs(jobs)
    assert [job.args for job in claim(owner)] == [job.args for job in jobs]


def test_the_limit_bounds_all_queues_together(owner: uuid.UUID) -> None:
    for queue in ("a", "b", "c"):
        JobFactory.create_batch(3, queue=queue)
    assert [job.queue for job in claim(owner, 5, a=1.0, b=1.0, c=1.0)] == ["a", "a", "a", "b", "b"]
    assert Job.objects.filter(state="running").count() == 5


def test_queues_are_looked_at_in_the_order_given(owner: uuid.UUID) -> None:
    JobFactory(queue="a", priority=100)
    JobFactory(queue="b")
    assert [job.queue for job in claim(owner, 1, b=1.0, a=1.0)] == ["b"]


def test_other_queues_are_left_alone(owner: uuid.UUID) -> None:
    JobFactory(queue="other")
    assert claim(owner) == []


def test_each_queue_has_its_own_lease(owner: uuid.UUID) -> None:
    JobFactory(queue="short")
    JobFactory(queue="long")
    claimed = {job.queue: job for job in claim(owner, short=0.5, long=3600.0)}
    assert {queue: job.lease_seconds for queue, job in claimed.items()} == {"short": 0.5, "long": 3600.0}
    for queue, job in claimed.items():
        expected = NOW + dt.timedelta(seconds={"short": 0.5, "long": 3600.0}[queue])
        assert Job.objects.get(pk=job.id).lease_expires_at == expected


def test_a_paused_queue_gives_nothing_and_holds_up_no_other(owner: uuid.UUID) -> None:
    QueueFactory(name="paused", paused=True)
    QueueFactory(name="open", paused=False)
    for queue in ("paused", "open", "unknown"):
        JobFactory(queue=queue)
    assert [job.queue for job in claim(owner, paused=1.0, open=1.0, unknown=1.0)] == ["open", "unknown"]


def test_a_job_whose_payload_is_gone_is_claimed_all_the_same(owner: uuid.UUID) -> None:
    job = JobFactory(payload=None)
    [claimed] = claim(owner)
    assert (claimed.id, claimed.args) == (job.id, None)


def test_a_limit_of_nothing_and_no_queues(owner: uuid.UUID) -> None:
    JobFactory()
    assert claim(owner, 0) == []
    assert Job.objects.claim_jobs(owner=owner, queues={}, limit=1) == []


def test_what_was_due_before_it_was_enqueued_waits_from_then(owner: uuid.UUID) -> None:
    JobFactory(run_at=NOW - dt.timedelta(days=1), created_at=NOW - dt.timedelta(seconds=3))
    [claimed] = claim(owner)
    assert claimed.waited_seconds == 3.0
