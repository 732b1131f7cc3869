"""Draining inside a test's transaction, and with real commits."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection, connections
from django.test import TestCase
from django.utils import timezone
from pytest_django import Settings

from conveyor_django import ConveyorError
from conveyor_django.compat import TaskResultStatus, task_finished, task_started
from conveyor_django.models import Attempt, Job, Ledger, Queue
from conveyor_django.testing import drain, enqueued, frozen_clock

from . import tasks

SUCCESSFUL, FAILED, READY = TaskResultStatus.SUCCESSFUL, TaskResultStatus.FAILED, TaskResultStatus.READY

# The same in the transaction of a test, and where each statement commits.
both = pytest.mark.parametrize(
    "transactional",
    [
        pytest.param(False, id="TestCase"),
        pytest.param(True, id="TransactionTestCase", marks=pytest.mark.django_db(transaction=True)),
    ],
)
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _as_asked_for(request: pytest.FixtureRequest, _django_db_helper: None) -> None:
    callspec = getattr(request.node, "callspec", None)
    if callspec is not None and "transactional" in callspec.params:
        assert connection.in_atomic_block is not callspec.params["transactional"]


@both
def test_it_runs_what_is_ready_and_returns_each_run(transactional: bool) -> None:
    first, second = tasks.add.enqueue(1, b=2), tasks.add_later.enqueue(5)
    assert [(r.id, r.status, r.return_value) for r in drain()] == [
        (first.id, SUCCESSFUL, 3), (second.id, SUCCESSFUL, 5),
    ]  # fmt: skip
    assert Queue.objects.filter(name="async-5").exists()
    assert Ledger.objects.filter(step="").count() == 2
    assert drain() == []


@both
def test_what_a_job_enqueues_runs_too(transactional: bool) -> None:
    tasks.enqueue_another.enqueue(3)
    assert [r.return_value for r in drain()] == [3, 2, 1, 0]


@both
def test_a_failed_run_keeps_its_writes_and_waits_for_its_retry(transactional: bool) -> None:
    result = tasks.write_and_fail.enqueue("kept")
    with frozen_clock() as clock:
        [run] = drain()
        assert (run.status, [e.exception_class for e in run.errors]) == (READY, [ValueError])
        assert Queue.objects.filter(name="kept").exists()
        assert drain() == []
        Queue.objects.all().delete()
        clock.advance(60)
        [run] = drain()
    assert (run.id, run.status, run.attempts) == (result.id, FAILED, 2)
    assert list(Attempt.objects.order_by("lease_version").values_list("verb", flat=True)) == ["retry", "fail"]


@both
def test_an_atomic_job_is_one_commit_and_its_hooks_run_after_it(transactional: bool) -> None:
    tasks.write_atomically.enqueue("all")
    assert [r.return_value for r in drain()] == ["all", 2]
    assert Queue.objects.filter(name="all").exists()


@both
def test_a_failed_atomic_job_leaves_nothing(transactional: bool) -> None:
    tasks.write_atomically.enqueue("nothing", fail=True)
    [run] = drain()
    assert (run.status, Queue.objects.count(), Job.objects.count()) == (FAILED, 0, 1)


@both
def test_a_database_error_is_the_run_s_alone(transactional: bool) -> None:
    tasks.break_the_transaction.enqueue()
    tasks.write.enqueue("next")
    assert [r.status for r in drain()] == [FAILED, SUCCESSFUL]
    assert Queue.objects.filter(name="next").exists()


@both
def test_an_error_that_the_handler_survived_is_none(transactional: bool) -> None:
    tasks.survive_an_error.enqueue()
    assert [r.return_value for r in drain()] == ["after"]


def test_what_a_hook_raises_is_logged_as_in_a_worker(caplog: pytest.LogCaptureFixture) -> None:
    tasks.raise_in_a_hook.enqueue()
    tasks.add.enqueue(1)
    assert [r.status for r in drain()] == [SUCCESSFUL, SUCCESSFUL]
    assert "job.hook_failed" in caplog.text


class ListsDefaultAlone(TestCase):
    """A test class as Django makes it ready: any other database raises."""

    __test__ = False
    databases = {"default"}  # noqa: RUF012 - as Django wants it


def test_databases_that_the_test_does_not_list_are_left_out(settings: Settings) -> None:
    settings.CONVEYOR = {"QUEUES": {"billing": {"DATABASE": "elsewhere"}}}
    connections.databases["elsewhere"] = connections.databases["default"]
    ListsDefaultAlone._add_databases_failures()
    try:
        tasks.add.enqueue(1)
        assert len(enqueued()) == 1
        assert [r.return_value for r in drain()] == [1]
    finally:
        ListsDefaultAlone._remove_databases_failures()
        del connections["elsewhere"]
        del connections.databases["elsewhere"]


def test_a_queue_can_be_named() -> None:
    tasks.add.enqueue(1)
    tasks.order.enqueue("A-17")
    assert [r.return_value for r in drain("orders")] == ["A-17"]
    assert [r.return_value for r in drain()] == [1]


def test_a_paused_queue_stays() -> None:
    Queue.objects.create(name="default", paused=True)
    tasks.add.enqueue(1)
    assert drain() == []


def test_what_is_not_due_stays_until_the_clock_is_put_forward() -> None:
    with frozen_clock() as clock:
        tasks.add.using(run_after=clock.now + timedelta(hours=1)).enqueue(1)
        assert drain() == []
        clock.advance(timedelta(hours=1))
        assert [r.return_value for r in drain()] == [1]


def test_the_context_says_which_run_it_is() -> None:
    tasks.which_run.enqueue()
    assert [r.return_value for r in drain()] == [{"attempt": 1, "token": 1}]


def test_an_unknown_task_waits() -> None:
    tasks.add.enqueue(1)
    Job.objects.update(task="tests.testing.tasks.gone")
    [run] = drain()
    assert run.status is READY
    assert Attempt.objects.get().error_class.endswith("UnknownTask")


def test_the_framework_s_signals_are_sent() -> None:
    seen = []

    def note(sender: type, task_result: object, signal: object, **_: object) -> None:
        seen.append(signal)

    task_started.connect(note)
    task_finished.connect(note)
    try:
        tasks.add.enqueue(1)
        drain()
    finally:
        task_started.disconnect(note)
        task_finished.disconnect(note)
    assert seen == [task_started, task_finished]


def test_without_end_is_an_error() -> None:
    tasks.enqueue_another.enqueue(10)
    with pytest.raises(ConveyorError, match=r"has made 3 runs .* tests\.testing\.tasks\.enqueue_another"):
        drain(max_runs=3)


class InATestCase(TestCase):
    """As a project's own tests: the rollback takes everything away again."""

    def test_one(self) -> None:
        tasks.write.enqueue("one")
        assert [r.return_value for r in drain()] == ["one"]
        assert Job.objects.count() == 1

    def test_another(self) -> None:
        assert (Job.objects.count(), Queue.objects.count()) == (0, 0)
        with frozen_clock(timezone.now() + timedelta(days=1)) as clock:
            tasks.add.enqueue(1)
            assert Job.objects.get().created_at == clock.now
