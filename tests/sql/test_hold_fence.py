"""hold_fence: whether the lease is the run's, locked until the transaction ends."""

from __future__ import annotations

import uuid

import pytest
from django.db import connection

from conveyor_django.models import Job

from ..support.factories import JobFactory

pytestmark = pytest.mark.django_db


def hold(owner: uuid.UUID, job: Job) -> bool:
    """Ask under the version that the object has."""
    return Job.objects.hold_fence((job.pk, job.lease_version), owner=owner)


def test_it_is_held_by_its_owner(owner: uuid.UUID) -> None:
    assert hold(owner, JobFactory(running=True, lease_owner=owner, lease_version=3))


def test_it_changes_nothing(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    before = Job.objects.values().get()
    hold(owner, job)
    assert Job.objects.values().get() == before


def test_it_may_be_asked_again(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    assert [hold(owner, job), hold(owner, job)] == [True, True]


def test_it_locks_the_job_s_row(owner: uuid.UUID) -> None:
    hold(owner, JobFactory(running=True, lease_owner=owner))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT mode FROM pg_locks WHERE relation = 'conveyor_job'::regclass AND pid = pg_backend_pid()"
            " AND mode = 'RowShareLock'"
        )
        assert cursor.fetchall() == [("RowShareLock",)]


@pytest.mark.parametrize("changed", [{"lease_version": 2}, {"lease_owner": uuid.uuid4()}])
def test_another_version_or_owner_has_not(owner: uuid.UUID, changed: dict[str, object]) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    Job.objects.filter(pk=job.pk).update(**changed)
    assert not hold(owner, job)


@pytest.mark.parametrize("state", ["ready", "scheduled", "succeeded", "failed", "cancelled"])
def test_a_job_that_does_not_run_is_nobody_s(owner: uuid.UUID, state: str) -> None:
    assert not hold(owner, JobFactory(**{} if state == "ready" else {state: True}, lease_version=1))


def test_an_unknown_job_is_nobody_s(owner: uuid.UUID) -> None:
    assert not Job.objects.hold_fence((404, 1), owner=owner)


def test_a_lapsed_lease_that_nobody_took_back_is_still_held(owner: uuid.UUID) -> None:
    assert hold(owner, JobFactory(lapsed=True, lease_owner=owner))
