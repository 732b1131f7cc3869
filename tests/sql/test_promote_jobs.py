"""promote_jobs: due jobs become ready, oldest first."""

from __future__ import annotations

import datetime as dt

import pytest

from conveyor_django.models import Job

from ..support.factories import JobFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


def scheduled(ahead: float, **fields: object) -> Job:
    """Make a job that is due so many seconds after NOW."""
    return JobFactory(scheduled=True, run_at=NOW + dt.timedelta(seconds=ahead), **fields)


@pytest.mark.parametrize(("ahead", "state"), [(-60, "ready"), (0, "ready"), (0.000001, "scheduled")])
def test_only_what_is_due(ahead: float, state: str) -> None:
    job = scheduled(ahead)
    assert Job.objects.promote_jobs(limit=10, now=NOW) == ({"default": 1} if state == "ready" else {})
    job.refresh_from_db()
    assert job.state == state
    assert (job.ready_seq is not None) == (state == "ready")


def test_nothing_but_state_and_order_changes() -> None:
    job = scheduled(-1, attempt=2, lost_count=1, lease_version=5)
    before = Job.objects.values().get(pk=job.pk)
    Job.objects.promote_jobs(limit=10, now=NOW)
    after = Job.objects.values().get(pk=job.pk)
    assert {name for name in after if after[name] != before[name]} == {"state", "ready_seq"}


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    # Due after the transaction began: its frozen now() would leave it.
    with clock() as window:
        pass
    JobFactory(scheduled=True, run_at=window.closed)
    assert Job.objects.promote_jobs(limit=10) == {"default": 1}


def test_counts_by_queue() -> None:
    for queue in ("a", "b", "a"):
        scheduled(-1, queue=queue)
    assert Job.objects.promote_jobs(limit=10, now=NOW) == {"a": 2, "b": 1}


def test_the_oldest_first_within_the_limit() -> None:
    newest, oldest, middle = scheduled(-1), scheduled(-3), scheduled(-2)
    Job.objects.promote_jobs(limit=2, now=NOW)
    assert set(Job.objects.filter(state="ready")) == {oldest, middle}
    newest.refresh_from_db()
    assert newest.state == "scheduled"


def test_the_oldest_is_claimed_first() -> None:
    late, early = scheduled(-1), scheduled(-2)
    Job.objects.promote_jobs(limit=2, now=NOW)
    assert list(Job.objects.order_by("ready_seq")) == [early, late]


@pytest.mark.parametrize("state", ["blocked", "running", "succeeded", "failed", "cancelled"])
def test_other_states_are_left_alone(state: str) -> None:
    JobFactory(**{state: True}, run_at=NOW - dt.timedelta(hours=1))
    assert Job.objects.promote_jobs(limit=10, now=NOW) == {}
