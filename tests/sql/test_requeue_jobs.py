"""requeue_jobs: failed and cancelled jobs start anew, with fresh budgets and a fence that goes on growing."""

from __future__ import annotations

import pytest

from conveyor_django.models import Job

from ..support.factories import AttemptFactory, JobFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_it_starts_anew(state: str) -> None:
    job = JobFactory(
        **{state: True}, attempt=5, lost_count=2, release_count=3, lease_version=10, cancel_requested_at=NOW
    )
    AttemptFactory(job=job)
    before = job.ready_seq
    assert Job.objects.requeue_jobs([job.id], now=NOW) == {job.id: "default"}
    job.refresh_from_db()
    assert (job.state, job.attempt, job.lost_count, job.release_count) == ("ready", 0, 0, 0)
    assert (job.lease_version, job.run_at) == (10, NOW)
    assert (job.cancel_requested_at, job.finished_at) == (None, None)
    assert job.ready_seq > before
    assert job.attempts.count() == 1


@pytest.mark.parametrize("state", ["blocked", "scheduled", "ready", "running", "succeeded"])
def test_only_failed_and_cancelled_jobs(state: str) -> None:
    job = JobFactory(**{} if state == "ready" else {state: True})
    before = Job.objects.values().get()
    assert Job.objects.requeue_jobs([job.id]) == {}
    assert Job.objects.values().get() == before


def test_a_job_cancelled_before_its_first_run() -> None:
    job = JobFactory(blocked=True)
    Job.objects.cancel_job(job.id)
    # What it waited for is not forgotten by being cancelled, but a requeue is somebody's word that it may run.
    assert Job.objects.requeue_jobs([job.id]) == {job.id: "default"}


def test_many_and_unknown_ones() -> None:
    a, b = JobFactory(failed=True, queue="a"), JobFactory(cancelled=True, queue="b")
    left = JobFactory(failed=True)
    assert Job.objects.requeue_jobs([b.id, 404, a.id, a.id]) == {a.id: "a", b.id: "b"}
    left.refresh_from_db()
    assert left.state == "failed"
    assert Job.objects.requeue_jobs([]) == {}


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    job = JobFactory(failed=True)
    with clock() as window:
        Job.objects.requeue_jobs([job.id])
    job.refresh_from_db()
    assert job.run_at in window
