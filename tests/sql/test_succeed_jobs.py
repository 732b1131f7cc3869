"""succeed_jobs: the fenced success, its one ledger row, and an answer for every token."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django.models import Attempt, Job, Ledger
from conveyor_django.outcomes import Answer, Succeed

from ..support.factories import JobFactory, LedgerFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db

WON, WON_BEFORE, LOST = Answer.WON, Answer.WON_BEFORE, Answer.LOST


def succeed(owner: uuid.UUID, *jobs: Job, **fields: object) -> list[Answer]:
    """Report success of each job under the version that the object has."""
    outcomes = [Succeed(id=job.id, version=job.lease_version, **fields) for job in jobs]
    answers = Job.objects.succeed_jobs(outcomes, owner=owner, now=NOW)
    assert len(answers) == len(outcomes)
    return [answers[outcome.token] for outcome in outcomes]


def test_the_job_ends_and_the_ledger_says_by_whom(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner, lease_version=7, attempt=2)
    assert succeed(owner, job, result='{"sum": [1, "é"]}') == [WON]
    job.refresh_from_db()
    assert (job.state, job.finished_at, job.attempt, job.lease_version) == ("succeeded", NOW, 2, 7)
    assert (job.lease_owner, job.lease_expires_at) == (None, None)
    ledger = Ledger.objects.get()
    assert (ledger.job_id, ledger.step, ledger.lease_version) == (job.id, "", 7)
    assert (ledger.owner, ledger.committed_at, ledger.result) == (owner, NOW, {"sum": [1, "é"]})
    assert not Attempt.objects.exists()


@pytest.mark.parametrize(("text", "stored"), [(None, None), ("null", None), ("0", 0), ('""', "")])
def test_results_are_kept_as_they_were(owner: uuid.UUID, text: str | None, stored: object) -> None:
    succeed(owner, JobFactory(running=True, lease_owner=owner), result=text)
    assert Ledger.objects.get().result == stored


def test_without_now_the_database_s_clock_rules(owner: uuid.UUID, clock: Clock) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    with clock() as window:
        Job.objects.succeed_jobs([Succeed(id=job.id, version=1)], owner=owner)
    job.refresh_from_db()
    assert job.finished_at in window
    assert Ledger.objects.get().committed_at == job.finished_at


def test_a_repeated_outcome_was_won_before(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    assert [succeed(owner, job, result="1"), succeed(owner, job, result="2")] == [[WON], [WON_BEFORE]]
    assert Ledger.objects.get().result == 1


def test_a_success_of_another_owner_or_version_is_not_mine(owner: uuid.UUID, other: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner, lease_version=2)
    succeed(owner, job)
    assert succeed(other, job) == [LOST]
    job.lease_version = 1
    assert succeed(owner, job) == [LOST]


@pytest.mark.parametrize("changed", [{"lease_version": 2}, {"lease_owner": uuid.uuid4()}])
def test_another_version_or_owner_is_lost(owner: uuid.UUID, changed: dict[str, object]) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    Job.objects.filter(pk=job.pk).update(**changed)
    assert succeed(owner, job) == [LOST]
    assert Job.objects.get().state == "running"
    assert not Ledger.objects.exists()


@pytest.mark.parametrize("state", ["ready", "scheduled", "failed", "cancelled"])
def test_a_job_that_no_longer_runs_is_lost(owner: uuid.UUID, state: str) -> None:
    job = JobFactory(**{} if state == "ready" else {state: True}, lease_version=1)
    assert succeed(owner, job) == [LOST]
    assert Job.objects.get().state == state
    assert not Ledger.objects.exists()


def test_an_unknown_job_is_lost(owner: uuid.UUID) -> None:
    assert Job.objects.succeed_jobs([Succeed(id=404, version=1)], owner=owner) == {(404, 1): LOST}


def test_a_lapsed_lease_that_nobody_took_back_still_wins(owner: uuid.UUID) -> None:
    assert succeed(owner, JobFactory(lapsed=True, lease_owner=owner)) == [WON]


def test_a_success_beats_a_cancel_request(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner, cancel_requested_at=NOW)
    assert succeed(owner, job) == [WON]


def test_each_of_a_batch_gets_its_own_answer_and_result(owner: uuid.UUID) -> None:
    mine, before, lost, gone = (JobFactory(running=True, lease_owner=owner) for _ in range(4))
    succeed(owner, before)
    Job.objects.filter(pk=lost.pk).update(lease_version=2)
    Job.objects.filter(pk=gone.pk).delete()
    outcomes = [Succeed(id=job.id, version=1, result=f"{job.id}") for job in (gone, lost, before, mine)]
    answers = Job.objects.succeed_jobs(outcomes, owner=owner)
    assert answers == {(gone.id, 1): LOST, (lost.id, 1): LOST, (before.id, 1): WON_BEFORE, (mine.id, 1): WON}
    assert Ledger.objects.get(job_id=mine.id).result == mine.id


def test_steps_of_the_job_are_no_success(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner)
    LedgerFactory(job=job, step="authorise", owner=owner)
    assert succeed(owner, job) == [WON]
    assert Ledger.objects.count() == 2


def test_an_effect_that_has_committed_refuses_a_second_one(owner: uuid.UUID) -> None:
    # No verb leads here; should a row be put back by hand, the ledger still holds, and the lease isn't kept for ever.
    job = JobFactory(running=True, lease_owner=owner, lease_version=2)
    LedgerFactory(job=job, lease_version=1)
    assert succeed(owner, job) == [LOST]
    assert Job.objects.get().state == "running"


def test_nothing_given_nothing_answered(owner: uuid.UUID) -> None:
    assert Job.objects.succeed_jobs([], owner=owner) == {}


def test_an_older_token_of_the_job_beside_the_newer_one_is_lost(owner: uuid.UUID) -> None:
    job = JobFactory(running=True, lease_owner=owner, lease_version=2)
    outcomes = [Succeed(id=job.id, version=version) for version in (1, 2)]
    answers = Job.objects.succeed_jobs(outcomes, owner=owner, now=NOW)
    assert answers == {(job.id, 1): LOST, (job.id, 2): WON}
