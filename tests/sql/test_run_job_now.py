"""run_job_now: a scheduled job is ready at once, whatever it waited for its time for; no other is touched."""

from __future__ import annotations

import datetime as dt

import pytest

from conveyor_django.models import Job
from conveyor_django.states import TRANSITIONS, JobState, Verb

from ..support.factories import JobFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db

LATER = NOW + dt.timedelta(days=3)


@pytest.mark.parametrize("runs", [{}, {"claimed_once": True, "attempt": 2, "lost_count": 1}], ids=["first", "retry"])
def test_a_scheduled_job_is_ready(runs: dict[str, object]) -> None:
    job = JobFactory(scheduled=True, run_at=LATER, queue="mail", **runs)
    before = Job.objects.values().get()
    assert Job.objects.run_job_now(job.id, now=NOW) == "mail"
    after = Job.objects.values().get()
    # Its budgets and its fence are what they were: it is the same retry, only sooner.
    assert {name for name in after if after[name] != before[name]} == {"state", "run_at", "ready_seq"}
    assert (after["state"], after["run_at"]) == ("ready", NOW)


def test_it_goes_to_the_end_of_the_line() -> None:
    job = JobFactory(scheduled=True)
    first = JobFactory()
    Job.objects.run_job_now(job.id)
    job.refresh_from_db()
    assert job.ready_seq > first.ready_seq


def test_one_that_is_due_already_keeps_its_time() -> None:
    due = NOW - dt.timedelta(minutes=1)
    job = JobFactory(scheduled=True, run_at=due)
    assert Job.objects.run_job_now(job.id, now=NOW) == "default"
    job.refresh_from_db()
    assert (job.state, job.run_at) == ("ready", due)


@pytest.mark.parametrize("state", [state.value for state in JobState if state != JobState.SCHEDULED])
def test_a_job_in_any_other_state_stays_as_it_is(state: str) -> None:
    job = JobFactory(**{} if state == "ready" else {state: True})
    before = Job.objects.values().get()
    assert Job.objects.run_job_now(job.id, now=NOW) is None
    assert Job.objects.values().get() == before


def test_it_is_a_promotion() -> None:
    start, end = TRANSITIONS[Verb.PROMOTE]
    assert JobState.SCHEDULED in start
    assert JobState.READY in end


def test_a_second_time_does_nothing_more() -> None:
    job = JobFactory(scheduled=True)
    assert Job.objects.run_job_now(job.id) == "default"
    before = Job.objects.values().get()
    assert Job.objects.run_job_now(job.id) is None
    assert Job.objects.values().get() == before


def test_an_unknown_job_and_a_neighbour() -> None:
    JobFactory(scheduled=True)
    assert Job.objects.run_job_now(404) is None
    assert Job.objects.get().state == "scheduled"


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    job = JobFactory(scheduled=True)
    with clock() as window:
        Job.objects.run_job_now(job.id)
    job.refresh_from_db()
    assert job.run_at in window
