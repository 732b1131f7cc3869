"""Plain code of Django's tasks, unchanged, against the backend."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import DatabaseError, connection, transaction
from pytest_django import Settings

from conveyor_django import task
from conveyor_django.compat import (
    InvalidTask,
    TaskResultDoesNotExist,
    TaskResultMismatch,
    TaskResultStatus,
    task_backends,
)
from conveyor_django.models import Job

from ..support.produce import (
    anything,
    plain_add,
    plain_async,
    plain_with_context,
    with_options,
)

pytestmark = pytest.mark.django_db

LATER = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)


def only_job() -> Job:
    return Job.objects.select_related("payload").get()


def test_an_enqueue_stores_a_job_and_returns_its_ready_result() -> None:
    result = plain_add.enqueue(1, b=2)
    job = only_job()
    assert (job.task, job.queue, job.priority, job.state) == (
        "tests.support.produce.plain_add", "default", 0, "ready",
    )  # fmt: skip
    assert (job.payload.args, job.payload.kwargs) == ([1], {"b": 2})
    assert (result.id, result.status, result.task) == (f"default:{job.pk}", TaskResultStatus.READY, plain_add)
    assert (result.args, result.kwargs, result.backend) == ([1], {"b": 2}, "default")
    assert (result.enqueued_at, result.started_at, result.finished_at) == (job.created_at, None, None)
    assert (result.errors, result.worker_ids, result.attempts, result.last_attempted_at) == ([], [], 0, None)


def test_priority_queue_and_run_after() -> None:
    result = plain_add.using(priority=-7, queue_name="orders", run_after=LATER).enqueue(1)
    job = only_job()
    assert (job.priority, job.queue, job.state, job.run_at) == (-7, "orders", "scheduled", LATER)
    assert result.status == TaskResultStatus.READY
    assert result.task.run_after == LATER


def test_a_run_after_that_has_passed_is_ready() -> None:
    plain_add.using(run_after=dt.datetime(2020, 1, 1, tzinfo=dt.UTC)).enqueue(1)
    assert only_job().state == "ready"


def test_a_task_that_takes_its_context() -> None:
    plain_with_context.enqueue("o-1")
    job = only_job()
    assert (job.queue, job.priority, job.payload.args) == ("orders", 7, ["o-1"])


def test_an_async_task() -> None:
    assert plain_async.enqueue(3).status == TaskResultStatus.READY


def test_conveyors_options_reach_the_job() -> None:
    with_options.using(idempotency_key="k").enqueue(1)
    job = only_job()
    assert (job.max_attempts, job.idempotency_key) == (3, "k")


def test_aenqueue() -> None:
    result = async_to_sync(plain_add.aenqueue)(1, b=2)
    assert result.id == f"default:{only_job().pk}"


def test_aenqueue_is_part_of_the_callers_transaction() -> None:
    with transaction.atomic():
        async_to_sync(plain_add.aenqueue)(1)
        assert Job.objects.count() == 1
        transaction.set_rollback(True)
    assert Job.objects.count() == 0


def test_get_result_and_refresh() -> None:
    result = plain_add.enqueue(1)
    again = plain_add.get_result(result.id)
    assert again == result
    Job.objects.cancel_job(only_job().pk)
    result.refresh()
    assert result.status == TaskResultStatus.FAILED
    assert result.is_finished


def test_async_get_result_and_refresh() -> None:
    result = plain_add.enqueue(1)
    again = async_to_sync(plain_add.aget_result)(result.id)
    async_to_sync(again.arefresh)()
    assert again == result


def test_the_result_of_another_task() -> None:
    result = plain_add.enqueue(1)
    with pytest.raises(TaskResultMismatch):
        anything.get_result(result.id)


@pytest.mark.parametrize(
    "result_id",
    [
        "", "1", "default:", "default:0", "default:01", "default:-1", "default: 1", "default:1 ",
        "default:1\n",
        "default:999999999999", "default:9223372036854775808", "default:99999999999999999999", "other:1",
        "default:x", "default:\u0661", "a\x00:1", "default:default:1", None, 1, b"default:1",
    ],
    ids=ascii,
)  # fmt: skip
def test_ids_of_no_job(result_id: Any) -> None:
    with pytest.raises(TaskResultDoesNotExist):
        task_backends["default"].get_result(result_id)


def test_the_capabilities() -> None:
    backend = task_backends["default"]
    assert backend.supports_defer
    assert backend.supports_async_task
    assert backend.supports_get_result
    assert backend.supports_priority


def test_an_unknown_queue_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidTask) as caught:
        plain_add.using(queue_name="oders")
    assert str(caught.value) == (
        "Queue 'oders' is not valid for backend 'default', which declares 'default', 'orders'. "
        "Add it to TASKS['default']['QUEUES'], or set that to [] to allow any."
    )


@pytest.mark.parametrize("queue", ["", "q" * 129, "a\x00", "\ud800", 5, None])
def test_an_impossible_queue_is_refused_where_any_is_allowed(settings: Settings, queue: Any) -> None:
    settings.TASKS = {"default": {"BACKEND": "conveyor_django.backend.ConveyorBackend", "QUEUES": []}}
    with pytest.raises(InvalidTask):
        with_options.get_backend().validate_task(_with_queue(queue))


def _with_queue(queue: Any) -> Any:
    task = object.__new__(type(with_options))
    for name in ("func", "priority", "backend", "run_after", "takes_context"):
        object.__setattr__(task, name, getattr(with_options, name))
    object.__setattr__(task, "queue_name", queue)
    return task


@pytest.mark.parametrize("priority", [-101, 101, 1.5])
def test_priorities_have_djangos_bounds(priority: Any) -> None:
    with pytest.raises(InvalidTask):
        plain_add.using(priority=priority)


def test_a_queue_that_is_no_longer_declared_is_refused_at_the_enqueue(settings: Settings) -> None:
    settings.TASKS = {"default": {"BACKEND": "conveyor_django.backend.ConveyorBackend", "QUEUES": ["other"]}}
    with pytest.raises(InvalidTask):
        plain_add.enqueue(1)


def test_a_task_of_a_script_is_refused() -> None:
    def script() -> None: ...

    script.__module__, script.__qualname__ = "__main__", "script"
    with pytest.raises(InvalidTask, match=r"__main__.script cannot be enqueued: .* Move the function into a module"):
        task(script).enqueue()
    assert not Job.objects.exists()


def test_a_refused_enqueue_leaves_the_transaction_usable() -> None:
    with transaction.atomic():
        plain_add.enqueue(1)
        with pytest.raises(ValueError, match="nan"):
            anything.enqueue(float("nan"))
        plain_add.enqueue(2)
    assert Job.objects.count() == 2


def test_without_the_table_the_databases_own_error_comes_through() -> None:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL search_path = pg_catalog")
        with pytest.raises(DatabaseError):
            plain_add.enqueue(1)
        transaction.set_rollback(True)


STOCK = {
    "default": {"BACKEND": "conveyor_django.backend.ConveyorBackend", "QUEUES": ["default", "orders"]},
    "now": {"BACKEND": "conveyor_django.backend.ImmediateBackend"},
    "dummy": {"BACKEND": "conveyor_django.backend.DummyBackend"},
}


def test_the_immediate_backend_takes_conveyors_options(settings: Settings) -> None:
    settings.TASKS = STOCK
    result = with_options.using(backend="now").enqueue(7)
    assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, 7)
    assert Job.objects.count() == 0


def test_the_dummy_backend_takes_conveyors_options(settings: Settings) -> None:
    settings.TASKS = STOCK
    result = with_options.using(backend="dummy", idempotency_key="k").enqueue(7)
    assert task_backends["dummy"].results == [result]


@pytest.mark.parametrize("backend", ["now", "dummy"])
@pytest.mark.parametrize("args", [(), (1, 2, 3), (float("nan"),)])
def test_they_refuse_what_conveyor_would_refuse(settings: Settings, backend: str, args: Any) -> None:
    settings.TASKS = STOCK
    with pytest.raises(ValueError, match="with_options"):
        with_options.using(backend=backend).enqueue(*args)
