"""enqueue_job: one INSERT that accepts a job, or says that its key is taken."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import IntegrityError, transaction

from conveyor_django.models import Job

from ..support.factories import JobFactory, new_job
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db

SECOND = dt.timedelta(seconds=1)


def test_what_is_stored() -> None:
    accepted = Job.objects.enqueue_job(
        new_job(
            queue="billing", task="shop.tasks.charge", args='[1, "é"]', kwargs='{"a": null}', max_attempts=7,
            priority=-5, idempotency_key="order-1", traceparent="00-a", tracestate="b=c",
        ),
        now=NOW,
    )  # fmt: skip
    job = Job.objects.select_related("payload").get()
    assert accepted is not None
    assert (accepted.id, accepted.created_at, accepted.state) == (job.id, NOW, "ready")
    assert (job.queue, job.task, job.priority, job.max_attempts) == ("billing", "shop.tasks.charge", -5, 7)
    assert (job.idempotency_key, job.created_at, job.run_at) == ("order-1", NOW, NOW)
    assert (job.attempt, job.lost_count, job.release_count, job.lease_version) == (0, 0, 0, 0)
    assert (job.started_at, job.claimed_at, job.finished_at, job.cancel_requested_at) == (None,) * 4
    assert (job.payload.args, job.payload.kwargs) == ([1, "é"], {"a": None})
    assert (job.payload.traceparent, job.payload.tracestate) == ("00-a", "b=c")


@pytest.mark.parametrize(
    ("ahead", "state"), [(-1, "ready"), (0, "ready"), (0.000001, "scheduled"), (3600, "scheduled")]
)
def test_a_job_is_scheduled_only_if_it_is_due_later(ahead: float, state: str) -> None:
    run_at = NOW + dt.timedelta(seconds=ahead)
    accepted = Job.objects.enqueue_job(new_job(run_at=run_at), now=NOW)
    job = Job.objects.get()
    assert accepted is not None
    assert (accepted.state, job.state, job.run_at) == (state, state, run_at)
    assert (job.ready_seq is None) == (state == "scheduled")


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    with clock() as window:
        Job.objects.enqueue_job(new_job())
    job = Job.objects.get()
    assert job.created_at in window
    assert job.run_at in window


def test_due_is_judged_by_the_statement_not_by_the_transaction(clock: Clock) -> None:
    # Between the transaction's start and now: ahead of the frozen now(), but due.
    with clock() as window:
        pass
    accepted = Job.objects.enqueue_job(new_job(run_at=window.opened))
    assert accepted is not None
    assert accepted.state == "ready"


def test_jobs_get_ready_in_the_order_of_their_enqueue() -> None:
    for _ in range(3):
        Job.objects.enqueue_job(new_job())
    assert list(Job.objects.order_by("ready_seq")) == list(Job.objects.order_by("id"))


def test_a_taken_key_is_answered_with_none_and_leaves_nothing() -> None:
    first = Job.objects.enqueue_job(new_job(idempotency_key="k", args="[1]"))
    assert Job.objects.enqueue_job(new_job(idempotency_key="k", args="[2]")) is None
    assert first is not None
    job = Job.objects.select_related("payload").get()
    assert (job.id, job.payload.args) == (first.id, [1])


@pytest.mark.parametrize("state", ["scheduled", "running", "succeeded", "failed", "cancelled"])
def test_a_key_is_taken_for_as_long_as_the_row_lives(state: str) -> None:
    job = JobFactory(**{state: True}, idempotency_key="k")
    assert Job.objects.enqueue_job(new_job(idempotency_key="k")) is None
    Job.objects.filter(pk=job.pk).delete()
    assert Job.objects.enqueue_job(new_job(idempotency_key="k")) is not None


def test_a_key_belongs_to_its_queue_and_no_key_to_nobody() -> None:
    for queue, key in [("a", "k"), ("b", "k"), ("a", None), ("a", None)]:
        assert Job.objects.enqueue_job(new_job(queue=queue, idempotency_key=key)) is not None


def test_it_is_part_of_the_caller_s_transaction() -> None:
    with transaction.atomic():
        assert Job.objects.enqueue_job(new_job()) is not None
        transaction.set_rollback(True)
    assert not Job.objects.exists()


def test_what_the_table_refuses_is_an_error() -> None:
    with pytest.raises(IntegrityError, match="conveyor_job_priority"):
        Job.objects.enqueue_job(new_job(priority=101))
