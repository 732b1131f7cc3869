"""enqueue_many: each call checked as one is, and then all of them stored, or none."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction
from django.test import TestCase
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from conveyor_django import Call, aenqueue_many, bulk, enqueue_many, store
from conveyor_django.compat import InvalidTask, TaskResult, TaskResultDoesNotExist, TaskResultStatus, task_enqueued
from conveyor_django.errors import ForeignTransaction, IdempotencyConflict, InvalidArguments, PayloadTooLarge
from conveyor_django.models import Job, Payload

from ..support.factories import AttemptFactory, JobFactory
from ..support.produce import anything, plain_add, with_options
from .conftest import Rung

pytestmark = pytest.mark.django_db
with_commits = pytest.mark.django_db(transaction=True)


def stored() -> list[Any]:
    """Return the arguments of the jobs, in the order in which they stand in line."""
    return [job.payload.args for job in Job.objects.select_related("payload").order_by("ready_seq")]


def keyed(key: str, *args: Any, **using: Any) -> Call[..., Any]:
    return anything.using(idempotency_key=key, **using).bind(*args)


def ids(results: list[TaskResult[..., Any]]) -> list[str]:
    return [result.id for result in results]


def test_a_job_for_each_call_in_the_order_given() -> None:
    later = timezone.now() + dt.timedelta(hours=1)
    results = enqueue_many([
        anything.bind(1), with_options.using(priority=5).bind(2, note="b"), plain_add.using(run_after=later).bind(3),
    ])  # fmt: skip
    jobs = [Job.objects.select_related("payload").get(pk=int(result.id.partition(":")[2])) for result in results]
    assert [(job.payload.args, job.payload.kwargs) for job in jobs] == [([1], {}), ([2], {"note": "b"}), ([3], {})]
    assert [(job.state, job.priority, job.max_attempts) for job in jobs] == [
        ("ready", 0, 5), ("ready", 5, 3), ("scheduled", 0, 5),
    ]  # fmt: skip
    assert [result.status for result in results] == [TaskResultStatus.READY] * 3
    assert [(result.args, result.kwargs) for result in results] == [([1], {}), ([2], {"note": "b"}), ([3], {})]
    assert results[1].task.func is with_options.func


def test_of_one_task_by_its_arguments() -> None:
    results = with_options.using(queue_name="orders").enqueue_many((n, f"note {n}") for n in range(3))
    assert stored() == [[0, "note 0"], [1, "note 1"], [2, "note 2"]]
    assert {job.queue for job in Job.objects.all()} == {"orders"}
    assert len(set(ids(results))) == 3


def test_async_code_has_both() -> None:
    async_to_sync(aenqueue_many)([anything.bind(1)])
    async_to_sync(anything.aenqueue_many)([(2,)])
    assert stored() == [[1], [2]]


def test_nothing_given_nothing_stored() -> None:
    assert enqueue_many([]) == anything.enqueue_many([]) == []


def many(count: int) -> list[Call[..., Any]]:
    """Return calls with keys, in another order than that of the keys."""
    return [keyed(f"k{n % 20:02}-{n}", n) for n in range(count)]


def test_in_several_statements_they_stand_in_the_order_given(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    monkeypatch.setattr(store, "CHUNK", 50)
    # Savepoints around all and around the try; the places in line; five chunks.
    with django_assert_num_queries(2 + 2 + 1 + 5):
        results = enqueue_many(many(210))
    assert len(set(ids(results))) == Payload.objects.count() == 210
    assert stored() == [[n] for n in range(210)]


def test_in_several_statements_keys_are_locked_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "CHUNK", 3)
    keys = ["b", "É", "a", "B", "A", "é", "~", "aa"]
    enqueue_many([anything.bind(), *(keyed(key) for key in keys), anything.bind()])
    with connection.cursor() as cursor:
        # Where rows stand in a table that is only inserted into says in which order they came.
        cursor.execute("SELECT idempotency_key FROM conveyor_job WHERE idempotency_key IS NOT NULL ORDER BY ctid")
        assert [key for (key,) in cursor.fetchall()] == sorted(keys)


@pytest.mark.long
def test_twenty_thousand() -> None:
    results = enqueue_many(many(20_000))
    assert len(set(ids(results))) == Payload.objects.count() == 20_000
    assert stored() == [[n] for n in range(20_000)]


# -- all or none ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "kind", "says"),
    [
        (with_options.bind(), InvalidArguments, "calls[2]: tests.support.produce.with_options(order"),  # type: ignore[call-arg]
        (anything.bind(float("nan")), InvalidArguments, "calls[2]: tests.support.produce.anything: args[0] is nan"),
        (anything.bind("x" * 2000), PayloadTooLarge, "calls[2]: tests.support.produce.anything: the arguments take"),
        (anything, InvalidArguments, "calls[2] is ConveyorTask("),
    ],
    ids=["signature", "json", "size", "no call"],
)
def test_a_bad_one_is_named_and_nothing_stored(settings: Settings, bad: Any, kind: type[Exception], says: str) -> None:
    settings.CONVEYOR = {"MAX_PAYLOAD_BYTES": 1000}
    with pytest.raises(kind) as caught:
        enqueue_many([anything.bind(1), anything.bind(2), bad, anything.bind(3)])
    assert str(caught.value).startswith(says)
    assert not Job.objects.exists()


def test_a_queue_that_the_backend_has_no_more_is_named(settings: Settings) -> None:
    calls = [anything.bind(1), anything.using(queue_name="orders").bind(2)]
    settings.TASKS = {"default": settings.TASKS["default"] | {"QUEUES": ["default"]}}
    with pytest.raises(InvalidTask, match=r"^calls\[1\]: Queue 'orders' is not valid"):
        enqueue_many(calls)


def test_arguments_that_are_no_tuple_are_named() -> None:
    with pytest.raises(InvalidArguments, match=r"^calls\[1\] is 5, not a tuple .* write \(5,\)"):
        anything.enqueue_many([(1,), 5])  # type: ignore[list-item]
    assert not Job.objects.exists()


def test_calls_for_several_backends_are_refused(settings: Settings) -> None:
    settings.TASKS = {"default": settings.TASKS["default"], "second": settings.TASKS["default"]}
    calls = [anything.bind(1), anything.using(backend="second").bind(2)]
    with pytest.raises(InvalidArguments, match="for the backends 'default', 'second'"):
        enqueue_many(calls)
    assert enqueue_many(calls[1:])[0].backend == "second"


@with_commits
def test_a_rollback_takes_all_of_them() -> None:
    with transaction.atomic():
        enqueue_many([anything.bind(n) for n in range(3)])
        transaction.set_rollback(True)
    assert not Job.objects.exists()


@with_commits
def test_inside_a_transaction_of_another_database_it_is_refused(elsewhere: str) -> None:
    with transaction.atomic(using=elsewhere), pytest.raises(ForeignTransaction):
        anything.enqueue_many([(1,)])
    assert not Job.objects.exists()


class InTestCase(TestCase):
    def test_it_works_in_the_test_s_transaction_and_notifies_at_its_commit(self) -> None:
        with self.captureOnCommitCallbacks() as callbacks:
            anything.enqueue_many([(1,), (2,)])
        assert Job.objects.count() == 2
        assert len(callbacks) == 1


# -- wake-up and signals ----------------------------------------------------------------------------------


@with_commits
def test_each_queue_is_rung_once_and_after_the_commit(rung: Rung) -> None:
    later = timezone.now() + dt.timedelta(hours=1)
    with transaction.atomic():
        enqueue_many([
            *(anything.bind(n) for n in range(5)), *(anything.using(queue_name="orders").bind(n) for n in range(5)),
        ])  # fmt: skip
        assert rung() == []
    assert sorted(rung()) == ["default", "orders"]
    anything.using(run_after=later).enqueue_many([(1,)])
    assert rung() == []


@contextmanager
def announced() -> Iterator[list[str]]:
    heard: list[str] = []

    def hear(task_result: TaskResult[..., Any], **_: Any) -> None:
        heard.append(task_result.id)

    task_enqueued.connect(hear)
    try:
        yield heard
    finally:
        task_enqueued.disconnect(hear)


def test_new_jobs_alone_are_announced() -> None:
    first = keyed("k", 1).task.enqueue(1)
    with announced() as heard:
        results = enqueue_many([keyed("k", 1), anything.bind(2), keyed("l", 3), keyed("l", 3)])
    assert ids(results)[0] == first.id
    assert heard == ids(results)[1:3]


# -- keys -------------------------------------------------------------------------------------------------


def test_the_same_work_finds_the_job_of_its_key() -> None:
    before = enqueue_many([keyed("a", 1), keyed("b", (2,))])
    again = enqueue_many([keyed("c", 3), keyed("b", [2]), keyed("a", 1.0)])
    assert ids(again)[1:] == ids(before)[::-1]
    assert Job.objects.count() == 3


def test_existing_jobs_are_shown_as_they_are_by_now(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    done = [
        JobFactory(succeeded=True, idempotency_key=f"k{n}", task=anything.module_path, payload__args=[n])
        for n in range(3)
    ]
    failed = JobFactory(failed=True, idempotency_key="f", task=anything.module_path, lease_version=1)
    AttemptFactory(job_id=failed.pk, verb="fail")
    # Savepoints; the insert, the look for the keys; jobs, attempts, successes.
    with django_assert_num_queries(2 + 2 + 2 + 3):
        results = enqueue_many([*(keyed(f"k{n}", n) for n in range(3)), keyed("f")])
    assert ids(results) == [f"default:{job.pk}" for job in [*done, failed]]
    assert [result.status for result in results] == [TaskResultStatus.SUCCESSFUL] * 3 + [TaskResultStatus.FAILED]
    assert [len(result.errors) for result in results] == [0, 0, 0, 1]


def test_the_same_key_twice_is_one_job() -> None:
    results = enqueue_many([keyed("k", 1), keyed("l", 2), keyed("k", 1)])
    assert results[0].id == results[2].id != results[1].id
    assert stored() == [[1], [2]]


def test_the_same_key_for_other_work_stores_nothing_and_names_the_first() -> None:
    with pytest.raises(IdempotencyConflict) as caught:
        enqueue_many([keyed("l", 0), keyed("k", 1), keyed("k", 2), keyed("l", 3)])
    assert str(caught.value).startswith("calls[2]: idempotency key 'k' of queue 'default' already belongs to job ")
    assert (caught.value.key, caught.value.queue) == ("k", "default")
    assert not Job.objects.exists()


def test_a_key_that_has_other_work_stores_nothing_and_leaves_the_transaction_usable() -> None:
    first = keyed("k", 1).task.enqueue(1)
    with pytest.raises(IdempotencyConflict) as caught:
        enqueue_many([anything.bind(0), keyed("k", 2)])
    assert first.id.removeprefix("default:") in str(caught.value)
    anything.enqueue(3)
    assert stored() == [[1], [3]]


def test_taken_keys_are_found_chunk_by_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "CHUNK", 3)
    calls = [keyed(f"k{n}", n) for n in range(8)]
    before = enqueue_many(calls)
    again = enqueue_many([anything.bind("new"), *reversed(calls)])
    assert ids(again)[1:] == ids(before)[::-1]
    assert Job.objects.count() == 9


def test_where_a_result_cannot_be_read_nothing_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    keyed("k", 1).task.enqueue(1)

    def pruned(*_: Any, **__: Any) -> None:
        raise TaskResultDoesNotExist("default:1")

    monkeypatch.setattr(bulk, "stored_results", pruned)
    with pytest.raises(TaskResultDoesNotExist):
        enqueue_many([keyed("k", 1), anything.bind(2)])
    assert stored() == [[1]]


# -- other backends ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["ImmediateBackend", "DummyBackend"])
def test_the_stock_backends_check_all_and_then_take_each(settings: Settings, backend: str) -> None:
    settings.TASKS = {"default": {"BACKEND": f"conveyor_django.backend.{backend}"}}
    with pytest.raises(InvalidArguments, match=r"^calls\[1\]: "):
        anything.enqueue_many([(1,), (float("nan"),)])
    assert [result.args for result in anything.enqueue_many([(1,), (2,)])] == [[1], [2]]


def test_a_backend_that_cannot_is_named(settings: Settings) -> None:
    from conveyor_django.compat import FRAMEWORK

    settings.TASKS = {"default": {"BACKEND": f"{FRAMEWORK}.backends.dummy.DummyBackend"}}
    with pytest.raises(InvalidArguments, match="'default' is DummyBackend, which enqueues one by one"):
        anything.enqueue_many([(1,)])
