"""Whatever isolation a project's connections have by default: who waited for another sees what that one committed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import pytest
from django.db import connection, transaction

from conveyor_django import (
    cancel,
    cancel_workflow,
    enqueue_many,
    extend_workflow,
    pause_queue,
    pause_task,
    requeue,
    resume_queue,
    resume_task,
    retry_workflow,
    set_caps,
    workflow,
)
from conveyor_django.models import Job, PausedTask, Queue
from conveyor_django.transactions import joined
from conveyor_django.workflows import control, store

from ..support import flows
from ..support.connections import scalar
from ..support.produce import anything
from ..support.waits import PATIENCE, wait_until_blocked
from ..support.workflows import assert_nothing_stuck

pytestmark = pytest.mark.django_db(transaction=True)

Beside = Callable[[Callable[[], Any]], "Future[Any]"]
LEVELS = ["repeatable read", "serializable"]


def set_default(isolation: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {isolation.upper()}")


@pytest.fixture(params=LEVELS)
def beside(request: pytest.FixtureRequest, watcher: Any) -> Iterator[Beside]:
    """Start a call on another thread, in autocommit with that default; return when it waits for a lock."""
    pids: SimpleQueue[int] = SimpleQueue()

    def run(call: Callable[[], Any]) -> Any:
        try:
            set_default(request.param)
            pids.put(scalar(connection, "SELECT pg_backend_pid()"))
            return call()
        finally:
            connection.close()

    def start(call: Callable[[], Any]) -> Future[Any]:
        future = pool.submit(run, call)
        wait_until_blocked(watcher, pids.get(timeout=PATIENCE))
        return future

    with ThreadPoolExecutor(1, thread_name_prefix="beside") as pool:
        yield start


@pytest.fixture(params=LEVELS)
def isolation(request: pytest.FixtureRequest) -> Iterator[str]:
    """The default isolation of this thread's connection."""
    set_default(request.param)
    yield request.param
    connection.close()


def test_a_cancellation_reaches_what_was_just_added(beside: Beside) -> None:
    with workflow("w") as wf:
        first = wf.add(flows.value)
    with transaction.atomic():
        with extend_workflow(wf.key) as more:
            added = more.add(flows.value)
        cancelling = beside(lambda: cancel_workflow(wf.key))
    assert cancelling.result(PATIENCE) == {first.id: "cancelled", added.id: "cancelled"}
    assert_nothing_stuck()


def test_a_retry_reaches_what_was_just_cancelled(beside: Beside) -> None:
    with workflow("w") as wf:
        only = wf.add(flows.value)
    with transaction.atomic():
        cancel_workflow(wf.key)
        retrying = beside(lambda: retry_workflow(wf.key))
    assert retrying.result(PATIENCE) == [only.id]


def test_an_extension_follows_another(beside: Beside) -> None:
    def extend() -> int:
        with extend_workflow(wf.key) as more:
            return more.add(flows.value, after=["added"]).place

    with workflow("w") as wf:
        wf.add(flows.value)
    with transaction.atomic():
        with extend_workflow(wf.key) as more:
            more.add(flows.value, name="added")
        # Held until the commit, as the end of the workflow holds it.
        cancel_workflow(wf.key)
        extending = beside(extend)
    extending.result(PATIENCE)
    assert Job.objects.filter(workflow_id=wf.id).count() == 3
    assert_nothing_stuck()


@pytest.mark.parametrize("mode", [None, "replace"])
def test_a_key_that_another_takes(beside: Beside, mode: Any) -> None:
    keyed = anything.using(idempotency_key="k", on_conflict=mode)
    with transaction.atomic():
        first = keyed.enqueue(1)
        enqueuing = beside(lambda: enqueue_many([anything.bind(2), keyed.bind(1)]))
    _, second = enqueuing.result(PATIENCE)
    assert (second.id == first.id) == (mode is None)
    assert Job.objects.filter(idempotency_key="k", state="ready").count() == 1


def test_a_job_that_another_replaces(beside: Beside) -> None:
    keyed = anything.using(idempotency_key="k", on_conflict="replace")
    keyed.enqueue(1)
    with transaction.atomic():
        keyed.enqueue(2)
        enqueuing = beside(lambda: keyed.enqueue(3))
    enqueuing.result(PATIENCE)
    assert Job.objects.get(idempotency_key="k").pk == int(enqueuing.result().id.partition(":")[2])
    assert Job.objects.filter(state="cancelled").count() == 2


@pytest.mark.parametrize(
    "act",
    [lambda: pause_queue("orders"), lambda: set_caps("orders", exact=3), lambda: pause_task(anything)],
    ids=["pause_queue", "set_caps", "pause_task"],
)
def test_a_setting_that_another_sets(beside: Beside, act: Callable[[], None]) -> None:
    with transaction.atomic():
        act()
        setting = beside(act)
    setting.result(PATIENCE)


@pytest.mark.parametrize(
    ("pause", "resume"),
    [(lambda: pause_queue("orders"), lambda: resume_queue("orders")),
     (lambda: pause_task(anything), lambda: resume_task(anything))],
    ids=["resume_queue", "resume_task"],
)  # fmt: skip
def test_a_pause_that_another_undoes(beside: Beside, pause: Callable[[], None], resume: Callable[[], None]) -> None:
    pause()
    with transaction.atomic():
        resume()
        resuming = beside(resume)
    resuming.result(PATIENCE)
    assert not Queue.objects.filter(paused=True).exists()
    assert not PausedTask.objects.exists()


def test_a_job_that_another_changes(beside: Beside) -> None:
    result = anything.enqueue(1)
    with transaction.atomic():
        Job.objects.update(priority=1)
        cancelling = beside(lambda: cancel(result))
    assert cancelling.result(PATIENCE) == "cancelled"


def test_a_requeue_is_done_at_read_committed(isolation: str) -> None:
    result = anything.enqueue(1)
    cancel(result)
    with connection.execute_wrapper(statement_seen := Seen()):
        assert requeue(result) == [result]
    assert statement_seen.levels == ["read committed"]


class Seen:
    """Notes at which isolation jobs are requeued."""

    def __init__(self) -> None:
        self.levels: list[str] = []

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("-- Make failed and cancelled jobs ready again"):
            with context["connection"].connection.cursor() as cursor:
                self.levels.append(cursor.execute("SHOW transaction_isolation").fetchone()[0])
        return execute(sql, params, many, context)


def test_what_follows_the_end_is_done_at_read_committed(isolation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    original = control.follow_up

    def looked_at(**given: Any) -> set[str]:
        seen.append(scalar(connection, "SHOW transaction_isolation"))
        return original(**given)

    for module in (control, store):
        monkeypatch.setattr(module, "follow_up", looked_at)
    with workflow("w") as wf:
        wf.add(flows.value, name="first")
    with extend_workflow(wf.key) as more:
        more.add(flows.value, after=["first"])
    cancel_workflow(wf.key)
    retry_workflow(wf.key)
    assert seen == ["read committed"] * 3


def test_a_caller_s_own_transaction_keeps_its_isolation(isolation: str) -> None:
    with transaction.atomic(), joined("default"):
        assert scalar(connection, "SHOW transaction_isolation") == isolation
    with joined("default"):
        assert scalar(connection, "SHOW transaction_isolation") == "read committed"
    assert scalar(connection, "SHOW transaction_isolation") == isolation


@pytest.mark.django_db(transaction=False)
def test_in_a_test_case_settings_are_left_alone() -> None:
    before = scalar(connection, "SHOW transaction_isolation")
    with joined("default"):
        assert scalar(connection, "SHOW transaction_isolation") == before
