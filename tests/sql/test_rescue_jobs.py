"""rescue_jobs: lapsed leases are taken back; a lost run costs no attempt, but not for ever."""

from __future__ import annotations

import datetime as dt
import uuid

import pytest

from conveyor_django.managers.duties import Rescued
from conveyor_django.models import Attempt, Job

from ..support.factories import JobFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


def lapsed(owner: uuid.UUID, **fields: object) -> Job:
    """Make a running job whose lease ended a second before NOW."""
    expired = NOW - dt.timedelta(seconds=1)
    return JobFactory(**{"running": True, "lease_owner": owner, "lease_expires_at": expired} | fields)


def rescue(*, limit: int = 10, max_lost: int = 3) -> list[Rescued]:
    """Look at NOW."""
    return Job.objects.rescue_jobs(limit=limit, max_lost=max_lost, now=NOW)


def test_the_job_is_ready_again_and_its_attempt_refunded(owner: uuid.UUID) -> None:
    job = lapsed(owner, lease_version=5, attempt=2, lost_count=1, release_count=1)
    before = job.ready_seq
    [rescued] = rescue()
    assert (rescued.id, rescued.queue, rescued.state) == (job.id, "default", "ready")
    assert (rescued.version, rescued.lost, rescued.owner) == (5, True, owner)
    job.refresh_from_db()
    assert (job.state, job.attempt, job.lost_count, job.release_count) == ("ready", 1, 2, 1)
    assert (job.lease_owner, job.lease_expires_at, job.lease_version) == (None, None, 5)
    assert job.ready_seq > before
    assert job.finished_at is None


def test_the_attempt_says_that_it_was_lost(owner: uuid.UUID) -> None:
    job = lapsed(owner, lease_version=5, attempt=2, lost_count=1)
    rescue()
    attempt = Attempt.objects.get()
    assert (attempt.job_id, attempt.lease_version, attempt.number) == (job.id, 5, 3)
    assert (attempt.verb, attempt.owner) == ("rescue", owner)
    assert attempt.error_class == "conveyor_django.errors.LeaseLost"
    assert "lapsed" in attempt.message
    assert (attempt.started_at, attempt.finished_at) == (job.claimed_at, NOW)


@pytest.mark.parametrize("ahead", [0, 0.000001, 30])
def test_a_lease_that_holds_is_left(owner: uuid.UUID, ahead: float) -> None:
    lapsed(owner, lease_expires_at=NOW + dt.timedelta(seconds=ahead))
    assert rescue() == []
    assert Job.objects.get().state == "running"


def test_without_now_the_database_s_clock_rules(owner: uuid.UUID, clock: Clock) -> None:
    # Lapsed after the transaction began: its frozen now() would leave it.
    with clock() as window:
        pass
    job = lapsed(owner, lease_expires_at=window.opened)
    with clock() as later:
        assert len(Job.objects.rescue_jobs(limit=1, max_lost=1)) == 1
    job.refresh_from_db()
    assert job.finished_at in later
    assert Attempt.objects.get().finished_at in later


@pytest.mark.parametrize(("lost", "state"), [(0, "ready"), (1, "ready"), (2, "failed"), (3, "failed")])
def test_losses_are_bounded(owner: uuid.UUID, lost: int, state: str) -> None:
    job = lapsed(owner, lost_count=lost)
    [rescued] = rescue(max_lost=3)
    job.refresh_from_db()
    assert (rescued.state, job.state, job.lost_count) == (state, state, lost + 1)
    assert job.finished_at == (NOW if state == "failed" else None)


@pytest.mark.parametrize("lost", [0, 2])
def test_a_requested_cancel_takes_it(owner: uuid.UUID, lost: int) -> None:
    job = lapsed(owner, lost_count=lost, cancel_requested_at=NOW)
    assert [rescued.state for rescued in rescue(max_lost=3)] == ["cancelled"]
    job.refresh_from_db()
    assert (job.state, job.finished_at) == ("cancelled", NOW)


def test_the_limit(owner: uuid.UUID) -> None:
    for _ in range(3):
        lapsed(owner)
    assert (len(rescue(limit=2)), len(rescue(limit=2)), len(rescue(limit=2))) == (2, 1, 0)


def test_all_owners_at_once(owner: uuid.UUID, other: uuid.UUID) -> None:
    lapsed(owner)
    lapsed(other)
    assert {rescued.owner for rescued in rescue()} == {owner, other}
