"""prune_jobs: ended jobs go after their retention, with all that belongs to them; nothing else goes."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import IntegrityError, connection, transaction

from conveyor_django.models import Attempt, Job, Ledger, Payload

from ..support.connections import scalar
from ..support.factories import AttemptFactory, JobFactory, LedgerFactory, QueueFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


def ended(state: str, age: float, **fields: object) -> Job:
    """Make a job that ended so many seconds before NOW."""
    return JobFactory(**{state: True}, finished_at=NOW - dt.timedelta(seconds=age), **fields)


def prune(*, limit: int = 100, retention: float | None = 10.0, failed_retention: float | None = 100.0) -> int:
    """Look at NOW."""
    return Job.objects.prune_jobs(limit=limit, retention=retention, failed_retention=failed_retention, now=NOW)


@pytest.mark.parametrize(
    ("state", "age", "gone"),
    [
        ("succeeded", 10, False),
        ("succeeded", 10.000001, True),
        ("cancelled", 10, False),
        ("cancelled", 10.000001, True),
        ("failed", 100, False),
        ("failed", 100.000001, True),
    ],
)
def test_each_state_has_its_retention(state: str, age: float, gone: bool) -> None:
    ended(state, age)
    assert prune() == (1 if gone else 0)
    assert Job.objects.exists() is not gone


@pytest.mark.parametrize("state", ["blocked", "scheduled", "ready", "running"])
def test_jobs_that_have_not_ended_stay(state: str) -> None:
    long_ago = NOW - dt.timedelta(days=999)
    JobFactory(**{} if state == "ready" else {state: True}, created_at=long_ago, run_at=long_ago)
    assert prune() == 0


def test_what_belongs_to_the_job_goes_and_the_rest_stays() -> None:
    gone, kept = ended("succeeded", 11), ended("succeeded", 9)
    for job in (gone, kept):
        AttemptFactory(job=job)
        LedgerFactory(job=job, step="authorise")
    assert prune() == 1
    assert list(Job.objects.all()) == [kept]
    for model in (Payload, Ledger, Attempt):
        assert set(model.objects.values_list("job_id", flat=True)) == {kept.id}


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_no_retention_keeps_for_ever(state: str) -> None:
    ended(state, 1e9)
    assert prune(retention=None, failed_retention=None) == 0


def test_one_kept_for_ever_does_not_keep_the_other() -> None:
    failed, succeeded = ended("failed", 1e6), ended("succeeded", 1e6)
    assert prune(failed_retention=None) == 1
    assert list(Job.objects.all()) == [failed]
    ended("succeeded", 1e6)
    assert prune(retention=None) == 1
    assert not Job.objects.filter(pk=succeeded.pk).exists()


def test_a_queue_s_own_retention_wins() -> None:
    QueueFactory(name="short", retention_seconds=1)
    QueueFactory(name="long", retention_seconds=1000)
    QueueFactory(name="unset", retention_seconds=None)
    for queue in ("short", "long", "unset", "without a row"):
        ended("succeeded", 5, queue=queue)
        ended("succeeded", 500, queue=queue)
        ended("failed", 50, queue=queue)
    prune()
    left = Job.objects.values_list("queue", "state", "finished_at")
    ages = {(queue, state, (NOW - finished).total_seconds()) for queue, state, finished in left}
    assert ages == {
        ("short", "failed", 50), ("long", "failed", 50), ("unset", "failed", 50), ("without a row", "failed", 50),
        ("long", "succeeded", 5), ("long", "succeeded", 500),
        ("unset", "succeeded", 5), ("without a row", "succeeded", 5),
    }  # fmt: skip


def test_a_queue_s_own_retention_counts_where_the_rest_is_kept_for_ever() -> None:
    QueueFactory(name="short", retention_seconds=1)
    ended("succeeded", 5, queue="short")
    ended("succeeded", 5)
    assert prune(retention=None, failed_retention=None) == 1


def test_the_oldest_first_within_the_limit() -> None:
    new, old, oldest = ended("succeeded", 20), ended("succeeded", 30), ended("cancelled", 40)
    assert prune(limit=2) == 2
    assert list(Job.objects.all()) == [new]
    assert (old.id, oldest.id) not in Job.objects.values_list("id")
    assert (prune(limit=2), prune(limit=2)) == (1, 0)


def test_a_key_is_free_again() -> None:
    ended("succeeded", 11, idempotency_key="k")
    prune()
    JobFactory(idempotency_key="k")


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    # Ended after the transaction began: for its frozen now() that lies ahead.
    with clock() as window:
        pass
    JobFactory(succeeded=True, finished_at=window.opened)
    assert Job.objects.prune_jobs(limit=1, retention=0, failed_retention=0) == 1


def test_the_permission_to_delete_ends_with_the_transaction() -> None:
    with transaction.atomic():
        ended("succeeded", 11)
        prune()
    # Within the test's outer transaction it lasts, as documented; a new one does not have it.
    assert scalar(connection, "SELECT current_setting('conveyor.pruning', true)") == "on"
    connection.cursor().execute("SET LOCAL conveyor.pruning = ''")
    job = ended("succeeded", 11)
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        Ledger.objects.filter(job_id=job.id).delete()
