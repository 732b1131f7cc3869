"""rescue_owner: what a dead worker held, lost where it had started, free where it had not."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

import pytest

from conveyor_django.managers.duties import Rescued
from conveyor_django.models import Attempt, Job
from conveyor_django.outcomes import Token

from ..support.factories import JobFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


def rescue(owner: uuid.UUID, started: Iterable[Token] | None, **bounds: Any) -> dict[int, Rescued]:
    """Take back what the owner holds; `started` as its supervisor knows it."""
    rescued = Job.objects.rescue_owner(
        **{"owner": owner, "max_lost": 3, "max_releases": 100, "reason": "killed", "now": NOW} | bounds,
        started=started,
    )
    return {job.id: job for job in rescued}


def test_a_started_run_is_lost(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner, lease_version=5, attempt=2, lost_count=1)
    rescued = rescue(owner, [(job.id, 5)])[job.id]
    assert (rescued.state, rescued.version, rescued.lost, rescued.owner) == ("ready", 5, True, owner)
    before = job.ready_seq
    job.refresh_from_db()
    assert (job.state, job.attempt, job.lost_count, job.release_count) == ("ready", 1, 2, 0)
    assert (job.lease_owner, job.lease_expires_at, job.lease_version) == (None, None, 5)
    assert job.ready_seq > before
    attempt = Attempt.objects.get()
    assert (attempt.verb, attempt.number, attempt.lease_version) == ("rescue", 3, 5)
    assert (attempt.owner, attempt.finished_at) == (owner, NOW)
    assert (attempt.error_class, attempt.message) == ("conveyor_django.errors.LeaseLost", "killed")


def test_a_run_that_had_not_started_is_free(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner, attempt=2, lost_count=1)
    rescued = rescue(owner, [])[job.id]
    assert (rescued.state, rescued.lost) == ("ready", False)
    job.refresh_from_db()
    assert (job.state, job.attempt, job.lost_count, job.release_count) == ("ready", 1, 1, 1)
    attempt = Attempt.objects.get()
    assert (attempt.verb, attempt.error_class) == ("release", "")
    assert "not started" in attempt.message


def test_why_it_is_free_can_be_said(owner: uuid.UUID) -> None:
    JobFactory(running=True, lease_owner=owner)
    rescue(owner, [], free_reason="its neighbour is to blame")
    assert Attempt.objects.get().message == "its neighbour is to blame"


def test_where_nobody_knows_every_run_is_lost(owner: uuid.UUID) -> None:
    jobs = [JobFactory(running=True, lease_owner=owner) for _ in range(2)]
    assert {job.lost for job in rescue(owner, None).values()} == {True}
    assert set(Job.objects.values_list("id", "lost_count")) == {(job.id, 1) for job in jobs}


def test_a_start_under_an_older_version_does_not_count(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner, lease_version=2)
    assert rescue(owner, [(job.id, 1)])[job.id].lost is False


def test_neighbours_of_a_started_run_pay_nothing(owner: uuid.UUID) -> None:
    killer, neighbour = (JobFactory(running=True, lease_owner=owner) for _ in range(2))
    rescued = rescue(owner, [(killer.id, 1)])
    assert {job_id: job.lost for job_id, job in rescued.items()} == {killer.id: True, neighbour.id: False}


def test_leases_that_still_hold_are_taken_and_others_owners_are_not(owner: uuid.UUID, other: uuid.UUID) -> None:
    mine = JobFactory(running=True, lease_owner=owner)
    JobFactory(running=True, lease_owner=other)
    assert set(rescue(owner, None)) == {mine.id}
    assert rescue(owner, None) == {}


@pytest.mark.parametrize(("lost", "state"), [(1, "ready"), (2, "failed")])
def test_losses_are_bounded(owner: uuid.UUID, lost: int, state: str) -> None:
    job = JobFactory(running=True, lease_owner=owner, lost_count=lost)
    assert rescue(owner, None, max_lost=3)[job.id].state == state
    job.refresh_from_db()
    assert (job.state, job.finished_at) == (state, NOW if state == "failed" else None)


@pytest.mark.parametrize(("releases", "state"), [(2, "ready"), (3, "failed")])
def test_releases_are_bounded(owner: uuid.UUID, releases: int, state: str) -> None:
    job = JobFactory(running=True, lease_owner=owner, release_count=releases)
    assert rescue(owner, [], max_releases=3)[job.id].state == state
    job.refresh_from_db()
    assert (job.state, job.release_count) == (state, releases + 1)


def test_a_loss_is_no_release_and_a_release_no_loss(owner: uuid.UUID) -> None:
    lost = JobFactory(running=True, lease_owner=owner, release_count=100)
    free = JobFactory(running=True, lease_owner=owner, lost_count=2)
    rescued = rescue(owner, [(lost.id, 1)], max_lost=3, max_releases=3)
    assert {rescued[lost.id].state, rescued[free.id].state} == {"ready"}


@pytest.mark.parametrize("started", [None, []])
def test_a_requested_cancel_takes_it(owner: uuid.UUID, started: list[Token] | None) -> None:
    job = JobFactory(running=True, lease_owner=owner, lost_count=9, release_count=999, cancel_requested_at=NOW)
    assert rescue(owner, started)[job.id].state == "cancelled"
    job.refresh_from_db()
    assert (job.state, job.finished_at) == ("cancelled", NOW)


def test_without_now_the_database_s_clock_rules(owner: uuid.UUID, clock: Clock) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    with clock() as window:
        rescue(owner, None, max_lost=1, now=None)
    job.refresh_from_db()
    assert job.finished_at in window
    assert Attempt.objects.get().finished_at in window
