"""release_unknown: after a reconnect, what the owner holds but does not know goes back free."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django.models import Attempt, Job
from conveyor_django.outcomes import Token

from ..support.factories import JobFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


def release(owner: uuid.UUID, *known: Token, max_releases: int = 100) -> list[tuple[int, str, str]]:
    """Give back what is not known; returns (id, queue, state)."""
    return Job.objects.release_unknown(owner=owner, known=known, max_releases=max_releases, now=NOW)


def test_the_unknown_goes_back_free(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner, lease_version=5, attempt=2, lost_count=1)
    before = job.ready_seq
    assert release(owner) == [(job.id, "default", "ready")]
    job.refresh_from_db()
    assert (job.state, job.attempt, job.lost_count, job.release_count) == ("ready", 1, 1, 1)
    assert (job.lease_owner, job.lease_expires_at, job.lease_version) == (None, None, 5)
    assert job.ready_seq > before
    attempt = Attempt.objects.get()
    assert (attempt.job_id, attempt.lease_version, attempt.number) == (job.id, 5, 3)
    assert (attempt.verb, attempt.owner, attempt.error_class) == ("release", owner, "")
    assert (attempt.started_at, attempt.finished_at) == (job.claimed_at, NOW)


def test_the_known_is_kept(owner: uuid.UUID) -> None:
    known, unknown = (JobFactory(running=True, lease_owner=owner) for _ in range(2))
    assert [row[0] for row in release(owner, (known.id, 1))] == [unknown.id]
    assert release(owner, (known.id, 1)) == []


def test_an_older_version_is_not_known(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner, lease_version=2)
    assert [row[0] for row in release(owner, (job.id, 1))] == [job.id]


def test_another_owner_s_jobs_are_left(owner: uuid.UUID, other: uuid.UUID) -> None:
    JobFactory(running=True, lease_owner=other)
    assert release(owner) == []


@pytest.mark.parametrize(("releases", "state"), [(2, "ready"), (3, "failed")])
def test_releases_are_bounded(owner: uuid.UUID, releases: int, state: str) -> None:
    job = JobFactory(running=True, lease_owner=owner, release_count=releases)
    assert release(owner, max_releases=3) == [(job.id, "default", state)]
    job.refresh_from_db()
    assert (job.state, job.finished_at) == (state, NOW if state == "failed" else None)


def test_a_requested_cancel_takes_it(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner, release_count=999, cancel_requested_at=NOW)
    assert release(owner) == [(job.id, "default", "cancelled")]
    job.refresh_from_db()
    assert job.finished_at == NOW


def test_without_now_the_database_s_clock_rules(owner: uuid.UUID, clock: Clock) -> None:
    job = JobFactory(running=True, lease_owner=owner, release_count=1)
    with clock() as window:
        Job.objects.release_unknown(owner=owner, known=[], max_releases=1)
    job.refresh_from_db()
    assert job.finished_at in window
    assert Attempt.objects.get().finished_at in window
