"""renew_leases: by token, each for its own time; it says who lost what and whom to cancel."""

from __future__ import annotations

import datetime as dt
import uuid

import pytest

from conveyor_django.models import Job
from conveyor_django.outcomes import Answer

from ..support.factories import JobFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db

WON, LOST = Answer.WON, Answer.LOST


def lease_of(job: Job) -> dt.timedelta:
    """Return how far beyond NOW the stored lease reaches."""
    return Job.objects.get(pk=job.pk).lease_expires_at - NOW


def test_each_lease_is_extended_by_its_own_time(owner: uuid.UUID) -> None:
    short, long = (JobFactory(running=True, lease_owner=owner) for _ in range(2))
    answers = Job.objects.renew_leases({(long.id, 1): 3600.0, (short.id, 1): 0.5}, owner=owner, now=NOW)
    assert answers == {(long.id, 1): (WON, False), (short.id, 1): (WON, False)}
    assert (lease_of(short).total_seconds(), lease_of(long).total_seconds()) == (0.5, 3600)


def test_nothing_else_changes(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    before = Job.objects.values().get()
    Job.objects.renew_leases({(job.id, 1): 30.0}, owner=owner, now=NOW)
    after = Job.objects.values().get()
    assert {name for name in after if after[name] != before[name]} == {"lease_expires_at"}


def test_without_now_the_database_s_clock_rules(owner: uuid.UUID, clock: Clock) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    with clock() as window:
        Job.objects.renew_leases({(job.id, 1): 30.0}, owner=owner)
    job.refresh_from_db()
    assert job.lease_expires_at in window + 30


def test_a_cancel_request_is_passed_on(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner, cancel_requested_at=NOW)
    assert Job.objects.renew_leases({(job.id, 1): 30.0}, owner=owner) == {(job.id, 1): (WON, True)}


def test_a_job_that_is_not_named_lapses(owner: uuid.UUID) -> None:
    named, forgotten = (JobFactory(running=True, lease_owner=owner) for _ in range(2))
    Job.objects.renew_leases({(named.id, 1): 30.0}, owner=owner, now=NOW)
    assert Job.objects.get(pk=forgotten.pk).lease_expires_at == forgotten.lease_expires_at


def test_a_lapsed_lease_that_nobody_took_back_is_renewed(owner: uuid.UUID) -> None:
    job = JobFactory(lapsed=True, lease_owner=owner)
    assert Job.objects.renew_leases({(job.id, 1): 30.0}, owner=owner) == {(job.id, 1): (WON, False)}


@pytest.mark.parametrize("changed", [{"lease_version": 2}, {"lease_owner": uuid.uuid4()}])
def test_another_version_or_owner_is_lost(owner: uuid.UUID, changed: dict[str, object]) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    Job.objects.filter(pk=job.pk).update(**changed)
    assert Job.objects.renew_leases({(job.id, 1): 99.0}, owner=owner) == {(job.id, 1): (LOST, False)}
    assert Job.objects.get().lease_expires_at == job.lease_expires_at


@pytest.mark.parametrize("state", ["ready", "scheduled", "succeeded", "failed", "cancelled"])
def test_a_job_that_no_longer_runs_is_lost(owner: uuid.UUID, state: str) -> None:
    job = JobFactory(**{} if state == "ready" else {state: True}, lease_version=1)
    assert Job.objects.renew_leases({(job.id, 1): 30.0}, owner=owner) == {(job.id, 1): (LOST, False)}


def test_an_unknown_job_is_lost_and_its_neighbours_are_not(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    answers = Job.objects.renew_leases({(404, 1): 1.0, (job.id, 1): 30.0}, owner=owner, now=NOW)
    assert answers == {(404, 1): (LOST, False), (job.id, 1): (WON, False)}
    assert lease_of(job).total_seconds() == 30


def test_an_older_token_of_the_job_beside_the_newer_one_is_lost(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner, lease_version=2)
    answers = Job.objects.renew_leases({(job.id, 1): 30.0, (job.id, 2): 30.0}, owner=owner, now=NOW)
    assert answers == {(job.id, 1): (LOST, False), (job.id, 2): (WON, False)}
