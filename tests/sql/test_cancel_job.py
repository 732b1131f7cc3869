"""cancel_job: at once while a job waits, by a request while it runs, not at all once it has ended."""

from __future__ import annotations

import datetime as dt

import pytest

from conveyor_django.models import Job

from ..support.factories import JobFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("state", ["blocked", "scheduled", "ready"])
def test_a_waiting_job_ends_at_once(state: str) -> None:
    job = JobFactory(**{} if state == "ready" else {state: True})
    assert Job.objects.cancel_job(job.id, now=NOW) == "cancelled"
    job.refresh_from_db()
    assert (job.state, job.finished_at, job.cancel_requested_at) == ("cancelled", NOW, NOW)


def test_a_running_job_gets_a_request() -> None:
    job = JobFactory(running=True)
    before = Job.objects.values().get()
    assert Job.objects.cancel_job(job.id, now=NOW) == "running"
    after = Job.objects.values().get()
    assert {name for name in after if after[name] != before[name]} == {"cancel_requested_at"}
    assert after["cancel_requested_at"] == NOW


def test_the_first_request_counts() -> None:
    job = JobFactory(running=True)
    for minutes in range(2):
        assert Job.objects.cancel_job(job.id, now=NOW + dt.timedelta(minutes=minutes)) == "running"
    job.refresh_from_db()
    assert job.cancel_requested_at == NOW


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_an_ended_job_stays_as_it_is(state: str) -> None:
    job = JobFactory(**{state: True})
    before = Job.objects.values().get()
    assert Job.objects.cancel_job(job.id, now=NOW) is None
    assert Job.objects.values().get() == before


def test_an_unknown_job_and_a_neighbour() -> None:
    JobFactory()
    assert Job.objects.cancel_job(404) is None
    assert Job.objects.get().state == "ready"


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    job = JobFactory()
    with clock() as window:
        Job.objects.cancel_job(job.id)
    job.refresh_from_db()
    assert job.finished_at in window
    assert job.cancel_requested_at in window
