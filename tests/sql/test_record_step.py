"""record_step: a durable step's one ledger row, fenced, and what the ledger holds for it."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from conveyor_django.models import Job, Ledger
from conveyor_django.outcomes import Answer

from ..support.factories import JobFactory, LedgerFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db

WON, WON_BEFORE, LOST = Answer.WON, Answer.WON_BEFORE, Answer.LOST


def record(owner: uuid.UUID, job: Job, result: str | None = '"first"', step: str = "pay") -> tuple[Answer, Any]:
    """Record a step under the version that the object has."""
    return Job.objects.record_step((job.pk, job.lease_version), step, result, owner=owner, now=NOW)


def test_the_ledger_says_what_and_by_whom(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner, lease_version=7)
    assert record(owner, job, '{"sum":1}') == (WON, '{"sum": 1}')
    row = Ledger.objects.get()
    assert (row.job_id, row.step, row.lease_version, row.owner) == (job.pk, "pay", 7, owner)
    assert (row.committed_at, row.result) == (NOW, {"sum": 1})


def test_the_job_stays_as_it_was(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    before = Job.objects.values().get()
    record(owner, job)
    assert Job.objects.values().get() == before


def test_without_now_the_database_s_clock_rules(owner: uuid.UUID, clock: Clock) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    with clock() as window:
        Job.objects.record_step((job.pk, 1), "pay", None, owner=owner)
    assert Ledger.objects.get().committed_at in window


@pytest.mark.parametrize(
    ("given", "stored"),
    [(None, None), ("null", "null"), ('{"bb":1,"a":2}', '{"a": 2, "bb": 1}'), ("1e3", "1000"), ('""', '""')],
)
def test_the_answer_is_what_is_stored(owner: uuid.UUID, given: str | None, stored: str | None) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    assert record(owner, job, given) == (WON, stored)
    assert record(owner, job, '"another"') == (WON_BEFORE, stored)


def test_a_repeated_record_was_won_before_and_changes_nothing(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    assert [record(owner, job), record(owner, job, '"second"')] == [(WON, '"first"'), (WON_BEFORE, '"first"')]
    assert Ledger.objects.get().result == "first"


def test_what_an_earlier_run_recorded_stands(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner, lease_version=2)
    LedgerFactory(job=job, step="pay", lease_version=1, result="earlier")
    assert record(owner, job) == (WON_BEFORE, '"earlier"')


def test_other_steps_and_other_jobs_are_others(owner: uuid.UUID) -> None:
    jobs = [JobFactory(running=True, lease_owner=owner) for _ in range(2)]
    assert {record(owner, job, step=step)[0] for job in jobs for step in ("pay", "send")} == {WON}
    assert Ledger.objects.count() == 4


@pytest.mark.parametrize("changed", [{"lease_version": 2}, {"lease_owner": uuid.uuid4()}])
def test_another_version_or_owner_is_lost(owner: uuid.UUID, changed: dict[str, object]) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    Job.objects.filter(pk=job.pk).update(**changed)
    assert record(owner, job) == (LOST, None)
    assert not Ledger.objects.exists()


def test_a_zombie_does_not_learn_what_the_next_run_recorded(owner: uuid.UUID, other: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    Job.objects.filter(pk=job.pk).update(lease_version=2, lease_owner=other)
    LedgerFactory(job=job, step="pay", lease_version=2, owner=other, result="theirs")
    assert record(owner, job) == (LOST, None)


@pytest.mark.parametrize("state", ["ready", "scheduled", "succeeded", "failed", "cancelled"])
def test_a_job_that_no_longer_runs_is_lost(owner: uuid.UUID, state: str) -> None:
    job = JobFactory(**{} if state == "ready" else {state: True}, lease_version=1)
    assert record(owner, job) == (LOST, None)
    assert not Ledger.objects.filter(step="pay").exists()


def test_an_unknown_job_is_lost(owner: uuid.UUID) -> None:
    assert Job.objects.record_step((404, 1), "pay", None, owner=owner) == (LOST, None)


def test_a_lapsed_lease_that_nobody_took_back_still_wins(owner: uuid.UUID) -> None:
    assert record(owner, JobFactory(lapsed=True, lease_owner=owner))[0] == WON


def test_a_cancel_request_stops_no_step(owner: uuid.UUID) -> None:
    assert record(owner, JobFactory(running=True, lease_owner=owner, cancel_requested_at=NOW))[0] == WON
