"""end_attempts: every ending without success, its Attempt row, its refunds and bounds."""

from __future__ import annotations

import datetime as dt
import uuid

import pytest

from conveyor_django.models import Attempt, Job, Ledger
from conveyor_django.outcomes import Answer, Cancel, Ended, Fail, Release, Retry, Snooze, Succeed

from ..support.factories import ERROR, AttemptFactory, JobFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db

WON, WON_BEFORE, LOST = Answer.WON, Answer.WON_BEFORE, Answer.LOST
VERBS = (Retry, Snooze, Fail, Cancel, Release)


def outcome(kind: type[Ended], job: Job, delay: float = 0.0) -> Ended:
    """Return the outcome of a run under the version that the object has."""
    return kind(id=job.id, version=job.lease_version, error=ERROR, delay=delay)


def end(
    owner: uuid.UUID, *outcomes: Ended, keep: int = 100, max_releases: int = 100, now: dt.datetime | None = NOW
) -> tuple[list[Answer], set[str]]:
    """Write the outcomes; return the answers in their order and the queues to wake."""
    answers, queues = Job.objects.end_attempts(outcomes, owner=owner, keep=keep, max_releases=max_releases, now=now)
    assert len(answers) == len(outcomes)
    return [answers[given.token] for given in outcomes], queues


@pytest.fixture
def job(owner: uuid.UUID) -> Job:
    """A job in its second run, lost once and given back twice before."""
    return JobFactory(running=True, lease_owner=owner, attempt=2, lost_count=1, release_count=2, lease_version=5)


@pytest.mark.parametrize(
    ("kind", "delay", "state", "attempt", "releases"),
    [
        (Retry, 0, "ready", 2, 2),
        (Retry, 10, "scheduled", 2, 2),
        (Snooze, 0, "ready", 1, 2),
        (Snooze, 10, "scheduled", 1, 2),
        (Release, 0, "ready", 1, 3),
        (Release, 10, "scheduled", 1, 3),
        (Fail, 0, "failed", 2, 2),
        (Cancel, 0, "cancelled", 2, 2),
    ],
)
def test_fate(
    owner: uuid.UUID, job: Job, kind: type[Ended], delay: float, state: str, attempt: int, releases: int
) -> None:
    before = job.ready_seq
    assert end(owner, outcome(kind, job, delay)) == ([WON], {"default"} if state == "ready" else set())
    job.refresh_from_db()
    assert (job.state, job.attempt, job.release_count, job.lost_count) == (state, attempt, releases, 1)
    assert (job.lease_owner, job.lease_expires_at, job.lease_version) == (None, None, 5)
    assert job.finished_at == (NOW if state in ("failed", "cancelled") else None)
    assert (job.ready_seq > before) == (state == "ready")
    if state in ("ready", "scheduled"):
        assert job.run_at == NOW + dt.timedelta(seconds=delay)
    assert not Ledger.objects.exists()


@pytest.mark.parametrize("kind", VERBS)
def test_the_attempt_says_why(owner: uuid.UUID, job: Job, kind: type[Ended]) -> None:
    end(owner, outcome(kind, job))
    attempt = Attempt.objects.get()
    assert (attempt.job_id, attempt.lease_version, attempt.number) == (job.id, 5, 3)
    assert (attempt.verb, attempt.owner) == (kind.verb, owner)
    assert (attempt.error_class, attempt.message, attempt.traceback) == (
        ERROR.error_class, ERROR.message, ERROR.traceback,
    )  # fmt: skip
    assert (attempt.started_at, attempt.finished_at) == (job.claimed_at, NOW)


@pytest.mark.parametrize("kind", VERBS)
def test_a_requested_cancel_takes_every_ending(owner: uuid.UUID, job: Job, kind: type[Ended]) -> None:
    Job.objects.filter(pk=job.pk).update(cancel_requested_at=NOW)
    assert end(owner, outcome(kind, job, 10)) == ([WON], set())
    job.refresh_from_db()
    assert (job.state, job.finished_at) == ("cancelled", NOW)
    assert Attempt.objects.get().verb == kind.verb


def test_without_now_the_database_s_clock_rules(owner: uuid.UUID, job: Job, clock: Clock) -> None:
    with clock() as window:
        end(owner, outcome(Retry, job, 10), now=None)
    job.refresh_from_db()
    assert Attempt.objects.get().finished_at in window
    assert job.run_at in window + 10


@pytest.mark.parametrize(("releases", "state"), [(2, "ready"), (3, "failed"), (4, "failed")])
def test_releases_are_bounded(owner: uuid.UUID, releases: int, state: str) -> None:
    job = JobFactory(running=True, lease_owner=owner, release_count=releases)
    end(owner, outcome(Release, job), max_releases=3)
    job.refresh_from_db()
    assert (job.state, job.release_count, job.attempt) == (state, releases + 1, 0)


def test_only_releases_count_as_releases(owner: uuid.UUID, job: Job) -> None:
    end(owner, outcome(Retry, job), max_releases=1)
    job.refresh_from_db()
    assert job.state == "ready"


def test_the_newest_attempts_are_kept(owner: uuid.UUID, job: Job) -> None:
    stranger = JobFactory()
    for version in range(1, 5):
        AttemptFactory(job=job, lease_version=version)
        AttemptFactory(job=stranger, lease_version=version)
    end(owner, outcome(Retry, job), keep=3)
    kept = Attempt.objects.filter(job=job).order_by("lease_version")
    assert [attempt.lease_version for attempt in kept] == [3, 4, 5]
    assert Attempt.objects.filter(job=stranger).count() == 4


@pytest.mark.parametrize("kind", VERBS)
def test_a_repeated_outcome_was_won_before(owner: uuid.UUID, job: Job, kind: type[Ended]) -> None:
    assert end(owner, outcome(kind, job))[0] == [WON]
    after = Job.objects.values().get()
    assert end(owner, outcome(kind, job)) == ([WON_BEFORE], set())
    assert Job.objects.values().get() == after


def test_a_repeat_is_known_after_the_next_claim_too(owner: uuid.UUID, other: uuid.UUID, job: Job) -> None:
    end(owner, outcome(Retry, job))
    Job.objects.claim_jobs(owner=other, queues={"default": 30.0}, limit=1)
    assert end(owner, outcome(Retry, job)) == ([WON_BEFORE], set())


def test_a_success_of_the_same_run_was_won_before(owner: uuid.UUID, job: Job) -> None:
    Job.objects.succeed_jobs([Succeed(id=job.id, version=5)], owner=owner)
    assert end(owner, outcome(Retry, job)) == ([WON_BEFORE], set())


@pytest.mark.parametrize("kind", VERBS)
def test_a_rescued_run_is_lost_though_it_has_an_attempt_row(owner: uuid.UUID, job: Job, kind: type[Ended]) -> None:
    Job.objects.filter(pk=job.pk).update(lease_expires_at=NOW - dt.timedelta(seconds=1))
    Job.objects.rescue_jobs(limit=1, max_lost=3, now=NOW)
    after = Job.objects.values().get()
    assert end(owner, outcome(kind, job)) == ([LOST], set())
    assert Job.objects.values().get() == after
    assert Attempt.objects.get().verb == "rescue"


@pytest.mark.parametrize("changed", [{"lease_version": 6}, {"lease_owner": uuid.uuid4()}])
def test_another_version_or_owner_is_lost(owner: uuid.UUID, job: Job, changed: dict[str, object]) -> None:
    Job.objects.filter(pk=job.pk).update(**changed)
    assert end(owner, outcome(Retry, job)) == ([LOST], set())
    assert Job.objects.get().state == "running"
    assert not Attempt.objects.exists()


@pytest.mark.parametrize("state", ["ready", "scheduled", "succeeded", "failed", "cancelled"])
def test_a_job_that_no_longer_runs_is_lost(owner: uuid.UUID, state: str) -> None:
    job = JobFactory(**{} if state == "ready" else {state: True}, lease_version=1)
    assert end(owner, outcome(Retry, job)) == ([LOST], set())
    assert Job.objects.get().state == state


def test_each_of_a_batch_has_its_own_fate_and_answer(owner: uuid.UUID) -> None:
    jobs = {kind: JobFactory(running=True, lease_owner=owner, queue=kind.__name__) for kind in VERBS}
    lost = JobFactory(running=True)
    outcomes = [outcome(kind, job, 10 if kind is Snooze else 0) for kind, job in jobs.items()]
    answers, queues = end(owner, outcome(Fail, lost), *outcomes)
    assert answers == [LOST, WON, WON, WON, WON, WON]
    assert queues == {"Retry", "Release"}
    states = dict(Job.objects.values_list("queue", "state"))
    assert states == {
        "default": "running", "Retry": "ready", "Snooze": "scheduled", "Fail": "failed", "Cancel": "cancelled",
        "Release": "ready",
    }  # fmt: skip


@pytest.mark.parametrize("kind", VERBS)
def test_an_older_token_of_the_job_beside_the_newer_one_is_lost(owner: uuid.UUID, job: Job, kind: type[Ended]) -> None:
    old = kind(id=job.id, version=job.lease_version - 1, error=ERROR)
    assert end(owner, old, outcome(kind, job))[0] == [LOST, WON]
