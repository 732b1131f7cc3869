"""cancel and requeue, as a project calls them."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import OperationalError, connection, transaction

from conveyor_django import WaitInTransaction, acancel, cancel, requeue, run_now
from conveyor_django.compat import TaskResultStatus
from conveyor_django.models import Job

from ..support.connections import Connect, scalar
from ..support.factories import JobFactory, in_seconds
from ..support.produce import anything
from ..support.waits import wait_until

pytestmark = pytest.mark.django_db


def test_cancel_by_the_results_id() -> None:
    result = anything.enqueue()
    assert cancel(result.id) == "cancelled"
    result.refresh()
    assert result.status == TaskResultStatus.FAILED


def test_cancel_of_a_running_job_is_a_request() -> None:
    job = JobFactory(running=True)
    assert cancel(job.pk) == "running"
    job.refresh_from_db()
    assert job.cancel_requested_at is not None


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_cancel_of_an_ended_job_does_nothing_and_says_how_it_ended(state: str) -> None:
    job = JobFactory(**{state: True})
    before = Job.objects.values().get()
    assert cancel(job.pk) == state
    assert Job.objects.values().get() == before


def test_cancel_of_no_job() -> None:
    assert cancel(1_000_000) is None


def test_cancel_is_part_of_the_callers_transaction() -> None:
    result = anything.enqueue()
    with transaction.atomic():
        cancel(result.id)
        transaction.set_rollback(True)
    assert Job.objects.get().state == "ready"


def test_requeue_says_which_jobs_it_took() -> None:
    failed, cancelled = JobFactory(failed=True), JobFactory(cancelled=True)
    succeeded, waiting = JobFactory(succeeded=True), JobFactory()
    taken = requeue(f"default:{cancelled.pk}", failed.pk, succeeded.pk, waiting.pk, 1_000_000)
    assert taken == [f"default:{cancelled.pk}", failed.pk]
    failed.refresh_from_db()
    assert (failed.state, failed.attempt) == ("ready", 0)


def test_requeue_of_nothing() -> None:
    assert requeue() == []


def test_a_result_names_its_job() -> None:
    result = anything.enqueue()
    assert cancel(result) == "cancelled"
    assert requeue(result) == [result]


@pytest.mark.parametrize("given", ["other:1", "x", "", "42", "default:9223372036854775808", 0, -1, 2**63])
@pytest.mark.parametrize("act", [cancel, requeue, run_now])
def test_what_names_no_job_here_is_refused(act: Any, given: Any) -> None:
    with pytest.raises(ValueError, match="names no job of database 'default'") as caught:
        act(given)
    assert str(caught.value) == (
        f"{given!r} names no job of database 'default': "
        "pass a job's int id, a TaskResult, or result.id, such as 'default:42'."
    )


@pytest.mark.parametrize("given", [None, True, 1.0, [1]])
@pytest.mark.parametrize("act", [cancel, requeue, run_now])
def test_what_is_no_name_at_all_is_refused(act: Any, given: Any) -> None:
    with pytest.raises(TypeError, match="pass a job's int id, a TaskResult"):
        act(given)


def test_run_now_by_whatever_names_the_job() -> None:
    results = [anything.using(run_after=in_seconds(3600)).enqueue() for _ in range(3)]
    first, second, third = results
    assert run_now(first)
    assert run_now(second.id)
    assert run_now(int(third.id.partition(":")[2]))
    assert set(Job.objects.values_list("state", flat=True)) == {"ready"}
    assert not any(map(run_now, results))
    assert not run_now(1_000_000)


def test_run_now_is_part_of_the_callers_transaction() -> None:
    result = anything.using(run_after=in_seconds(3600)).enqueue()
    with transaction.atomic():
        assert run_now(result)
        transaction.set_rollback(True)
    assert Job.objects.get().state == "scheduled"


def test_requeue_changes_nothing_where_one_is_refused() -> None:
    failed = JobFactory(failed=True)
    with pytest.raises(TypeError):
        requeue(failed.pk, None)  # type: ignore[arg-type]
    failed.refresh_from_db()
    assert failed.state == "failed"


def test_a_result_of_another_backend_is_refused() -> None:
    foreign = replace(anything.enqueue(), id="a0b1c2")
    with pytest.raises(ValueError, match="'a0b1c2' names no job"):
        cancel(foreign)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("end", ["succeeded", "cancelled"])
@pytest.mark.parametrize("is_async", [False, True], ids=["cancel", "acancel"])
def test_a_wait_ends_with_the_job_and_says_how(end: str, connect: Connect, is_async: bool) -> None:
    job = JobFactory(running=True)

    def end_it() -> None:
        with connect() as other:
            wait_until(lambda: scalar(other, "SELECT cancel_requested_at FROM conveyor_job") is not None, "it is asked")
            other.execute(
                "UPDATE conveyor_job SET state = %s, finished_at = now(), lease_owner = NULL, lease_expires_at = NULL",
                (end,),
            )

    with ThreadPoolExecutor(max_workers=1) as pool:
        ending = pool.submit(end_it)
        said = async_to_sync(acancel)(job.pk, wait=20) if is_async else cancel(job.pk, wait=20)
        ending.result()
    assert said == end


@pytest.mark.django_db(transaction=True)
def test_a_wait_that_is_over_says_that_it_still_runs() -> None:
    assert cancel(JobFactory(running=True).pk, wait=0.02) == "running"
    assert async_to_sync(acancel)(JobFactory(running=True).pk, wait=0.02) == "running"


@pytest.mark.django_db(transaction=True)
def test_what_has_ended_or_waits_is_not_waited_for() -> None:
    assert cancel(JobFactory(failed=True).pk, wait=86_400) == "failed"
    assert cancel(JobFactory().pk, wait=86_400) == "cancelled"
    assert async_to_sync(acancel)(JobFactory().pk) == "cancelled"


def test_a_wait_inside_a_transaction_is_refused_and_nothing_is_asked() -> None:
    job = JobFactory(running=True)
    with pytest.raises(WaitInTransaction, match="inside a transaction on database 'default'"):
        cancel(job.pk, wait=1)
    job.refresh_from_db()
    assert job.cancel_requested_at is None


@pytest.mark.parametrize(
    ("wait", "error"),
    [("1", TypeError), (True, TypeError), (-1, ValueError), (float("nan"), ValueError), (1e9, ValueError)],
)
def test_a_wait_of_nonsense_is_refused(wait: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="wait must be"):
        cancel(1, wait=wait)


@pytest.mark.django_db(transaction=True)
def test_the_worker_is_told_after_the_commit(connect: Connect) -> None:
    running, waiting, listener = JobFactory(running=True), JobFactory(), connect()
    listener.execute("LISTEN conveyor_cancel")
    with transaction.atomic():
        cancel(running.pk)
        assert list(listener.notifies(timeout=0)) == []
    cancel(waiting.pk)
    cancel(running.pk)
    heard = [notification.payload for notification in listener.notifies(timeout=20, stop_after=2)]
    assert heard == [str(running.pk)] * 2


@pytest.mark.django_db(transaction=True)
def test_a_request_that_cannot_be_told_is_noted_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    job = JobFactory(running=True)

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "pg_notify" in sql:
            raise OperationalError("too many notifications in the NOTIFY queue")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse), caplog.at_level(logging.WARNING, logger="conveyor.notify"):
        assert cancel(job.pk) == "running"
    assert "too many notifications" in caplog.text
    job.refresh_from_db()
    assert job.cancel_requested_at is not None
