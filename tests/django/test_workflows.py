"""Workflows as a project builds them: what is stored, what is refused, and that nothing of a refused one is there."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import transaction
from django.test import override_settings

from conveyor_django import InvalidWorkflow, cancel_workflow, extend_workflow, needs, retry_workflow, workflow
from conveyor_django.compat import InvalidTask, task_backends
from conveyor_django.errors import ForeignTransaction, InvalidArguments
from conveyor_django.models import Dependency, Job, Payload, Workflow
from conveyor_django.testing import immediate
from conveyor_django.workflows import JobHandle

from ..support import flows
from ..support.factories import JobFactory, in_seconds
from ..support.produce import plain_add
from ..support.workflows import assert_nothing_stuck, end, states

pytestmark = pytest.mark.django_db

NOW = dt.datetime(2031, 5, 6, 7, 8, 9, tzinfo=dt.UTC)


@pytest.fixture(autouse=True)
def _nothing_stuck(db: None):
    yield
    assert_nothing_stuck()


def assert_nothing_stored() -> None:
    assert not Workflow.objects.exists()
    assert not Job.objects.exists()
    assert not Payload.objects.exists()
    assert not Dependency.objects.exists()


def edges() -> set[tuple[int, int, str]]:
    return set(Dependency.objects.values_list("job_id", "needs_id", "on_failure"))


# -- what is stored ----------------------------------------------------------------------------------------------


def test_jobs_and_edges() -> None:
    with workflow("order-42") as wf:
        first = wf.add(flows.value, 42, name="authorise")
        second = wf.add(flows.value.using(priority=5, queue_name="orders"), given=[1], after=first, on_failure="run")
        third = wf.add(plain_add, 1, b=2, after=["authorise", needs(second, on_failure="ignore")])
    assert (Workflow.objects.get().pk, Workflow.objects.get().name) == (wf.id, "order-42")
    assert edges() == {(second.id, first.id, "run"), (third.id, first.id, "cancel"), (third.id, second.id, "ignore")}
    stored = Job.objects.order_by("pk").values_list(
        "pk", "workflow_id", "state", "pending_dependencies", "queue", "priority", "payload__name", "payload__args",
        "payload__kwargs",
    )  # fmt: skip
    assert list(stored) == [
        (first.id, wf.id, "ready", 0, "default", 0, "authorise", [42], {}),
        (second.id, wf.id, "blocked", 1, "orders", 5, None, [], {"given": [1]}),
        (third.id, wf.id, "blocked", 2, "default", 0, None, [1], {"b": 2}),
    ]
    assert task_backends["default"].get_result(third.result_id).status == "READY"
    assert wf.key == f"default:{wf.id}"


def test_names_may_be_given_before_their_job() -> None:
    with workflow("w") as wf:
        last = wf.add(flows.value, after=["middle", "first"])
        middle = wf.add(flows.value, name="middle", after=["first"])
        first = wf.add(flows.value, name="first")
    assert first.id < middle.id < last.id
    assert list(Job.objects.order_by("pk").values_list("state", flat=True)) == ["ready", "blocked", "blocked"]


def test_a_thousand_jobs_and_more_than_one_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conveyor_django.workflows.store.CHUNK", 7)
    with workflow("wide") as wf:
        layer: list[JobHandle] = []
        for _ in range(5):
            layer = [wf.add(flows.value, after=layer) for _ in range(10)]
    assert Job.objects.count() == 50
    assert Dependency.objects.count() == 400
    assert Job.objects.filter(state="blocked", pending_dependencies=10).count() == 40


def test_callbacks_wait_for_the_end() -> None:
    with workflow("w", on_success=flows.value, on_failure=flows.value.bind(7), on_completion=flows.results) as wf:
        wf.add(flows.value)
    callbacks = Job.objects.exclude(workflow_role=None).values_list(
        "workflow_role", "state", "pending_dependencies", "payload__args", "workflow_id"
    )
    assert set(map(str, callbacks)) == {
        str((role, "blocked", 1, args, wf.id))
        for role, args in (("on_success", []), ("on_failure", [7]), ("on_completion", []))
    }


def test_a_call_that_is_bound() -> None:
    """For functions with parameters that `add` has too."""
    with workflow("w") as wf:
        wf.add(flows.with_words.bind("n", after="a", on_failure="f"), name="words")
    assert Payload.objects.values_list("name", "args", "kwargs").get() == (
        "words", ["n"], {"after": "a", "on_failure": "f"},
    )  # fmt: skip


def test_a_job_whose_time_lies_ahead_and_one_with_a_key() -> None:
    with workflow("w") as wf:
        later = wf.add(flows.value.using(run_after=in_seconds(3600), idempotency_key="k"))
    assert Job.objects.values_list("state", "idempotency_key").get(pk=later.id) == ("scheduled", "k")


def test_in_async_code() -> None:
    async def build() -> int:
        async with workflow("w") as wf:
            first = wf.add(flows.value)
            wf.add(flows.value, after=first)
        return wf.id

    assert Job.objects.filter(workflow_id=async_to_sync(build)()).count() == 2


def test_the_queues_are_woken_after_the_commit(django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks() as hooks, workflow("w") as wf:
        wf.add(flows.value.using(queue_name="orders"), name="a")
        wf.add(flows.value, after=["a"])
    # Of the queue of what is ready alone.
    assert len(hooks) == 1
    assert hooks[0].args == (["orders"],)  # type: ignore[attr-defined]


# -- all or nothing ----------------------------------------------------------------------------------------------


def test_an_exception_in_the_block_enqueues_nothing() -> None:
    def build() -> None:
        with workflow("w", on_success=flows.value) as wf:
            wf.add(flows.value)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        build()
    assert_nothing_stored()


def test_it_is_part_of_the_caller_s_transaction() -> None:
    with transaction.atomic():
        with workflow("w") as wf:
            wf.add(flows.value)
        assert Job.objects.count() == 1
        transaction.set_rollback(True)
    assert_nothing_stored()


@pytest.mark.django_db(transaction=True)
def test_in_a_transaction_of_another_database(elsewhere: str) -> None:
    refused = pytest.raises(ForeignTransaction, match="workflow 'w'")
    with transaction.atomic(using=elsewhere), refused, workflow("w") as wf:
        wf.add(flows.value)
    assert_nothing_stored()


def add_all(wf: Any, *tasks: Any) -> None:
    for task in tasks:
        wf.add(task)


def circle(wf: Any) -> None:
    wf.add(flows.value, name="a", after=["c"])
    wf.add(flows.value, name="b", after=["a"])
    wf.add(flows.value, name="c", after=["b"])


def needs_itself(wf: Any) -> None:
    wf.add(flows.value, name="a", after=["a"])


def foreign_handle(wf: Any) -> None:
    other = workflow("other")
    wf.add(flows.value, name="mine", after=[other.add(flows.value, name="theirs")])


REFUSED: dict[str, tuple[Callable[[Any], object], str]] = {
    "empty": (lambda _wf: None, "workflow 'w' has no jobs: add at least one"),
    "circle": (circle, r"wait for each other in a circle.*: (a → b → c → a|b → c → a → b|c → a → b → c)\."),
    "itself": (needs_itself, "in a circle.*: a → a"),
    "unknown name": (
        lambda wf: wf.add(flows.value, after=["nobody"]),
        r"value \(no. 1\) needs 'nobody', but workflow 'w' has no job of that name on database 'default'",
    ),
    "unknown id": (
        lambda wf: wf.add(flows.value, name="x", after=[404]), "x needs 404, but workflow 'w' has no job of that id",
    ),
    "a job of no workflow": (
        lambda wf: wf.add(flows.value, after=JobFactory.build(pk=1)), "which names no job: pass a handle, a name or",
    ),
    "foreign handle": (foreign_handle, "mine cannot need theirs, a job of workflow 'other': jobs need others of their"),
    "name twice": (
        lambda wf: (wf.add(flows.value, name="a"), wf.add(flows.value, name="a")), "has a job named 'a' already",
    ),
    "need twice": (lambda wf: wf.add(flows.value, after=["a", "a"]), "after= names 'a' twice"),
    "no name": (lambda wf: wf.add(flows.value, name=""), "the name of a job must be text of 1 to 200 characters"),
    "bad name": (lambda wf: wf.add(flows.value, name="a\x00"), "that PostgreSQL can store"),
    "number as a name": (lambda wf: wf.add(flows.value, name="17"), "must not be a number, as '17' is"),
    "policy": (lambda wf: wf.add(flows.value, on_failure="panic"), "one of 'cancel', 'ignore', 'run', not 'panic'"),
    "policy of an edge": (lambda wf: wf.add(flows.value, after=needs("a", on_failure="")), "not ''"),
    "no task": (lambda wf: wf.add(print), "is no task: decorate the function with @task"),
    "bound twice": (lambda wf: wf.add(flows.value.bind(1), 2), "given its arguments by bind\\(\\) already"),
    "no handle yet": (lambda wf: wf.add(flows.value, name="a").id, "a has no id yet"),
    "no id yet": (lambda wf: wf.id, "workflow 'w' has no id yet"),
}  # fmt: skip


@pytest.mark.parametrize(("build", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_with_nothing_stored(build: Callable[[Any], object], message: str) -> None:
    with pytest.raises(InvalidWorkflow, match=message), workflow("w", on_completion=flows.value) as wf:
        build(wf)
    assert_nothing_stored()


@pytest.mark.parametrize("given", ["", "x" * 201, "a\x00", 42, None])
def test_a_name_that_is_refused(given: Any) -> None:
    with pytest.raises(InvalidWorkflow, match="the name of a workflow must be text"):
        workflow(given)


def test_what_an_enqueue_would_refuse() -> None:
    with workflow("w") as wf:
        with pytest.raises(InvalidArguments, match="too many positional"):
            wf.add(flows.value, 1, 2)
        with pytest.raises(InvalidArguments, match="args"):
            wf.add(flows.value, object())
        with pytest.raises(InvalidTask, match="nowhere"):
            wf.add(flows.value.using(queue_name="nowhere"))
        wf.add(flows.value)
    with pytest.raises(InvalidArguments):
        workflow("w", on_success=flows.with_words)
    assert Job.objects.count() == 1


def test_a_key_that_is_taken() -> None:
    taken = flows.value.using(idempotency_key="k")
    taken.enqueue()
    refused = pytest.raises(InvalidWorkflow, match="the idempotency key 'k' of queue 'default' belongs to another job")
    with refused, workflow("w") as wf:
        add_all(wf, flows.value, taken)
    assert Job.objects.count() == 1
    assert not Workflow.objects.exists()


def test_two_databases(settings: Any) -> None:
    settings.CONVEYOR = settings.CONVEYOR | {"QUEUES": {"orders": {"DATABASE": "other"}}}
    refused = pytest.raises(InvalidWorkflow, match="'orders' lives on database 'other', and workflow 'w' on 'default'")
    with refused, workflow("w") as wf:
        add_all(wf, flows.value, flows.value.using(queue_name="orders"))
    assert_nothing_stored()


DUMMY = {"BACKEND": "conveyor_django.backend.DummyBackend", "QUEUES": []}


@pytest.mark.parametrize(
    ("backends", "name"),
    [(immediate, "ImmediateBackend"), (lambda: override_settings(TASKS={"default": DUMMY}), "DummyBackend")],
)
def test_a_backend_that_stores_no_jobs(backends: Any, name: str) -> None:
    refused = pytest.raises(InvalidWorkflow, match=rf"backend 'default' is {name}, which stores no .*drain\(\)")
    with backends():
        with refused, workflow("w") as wf:
            wf.add(flows.value)
        with refused:
            workflow("w", on_success=flows.value)
    assert_nothing_stored()


def test_a_block_that_has_ended() -> None:
    with workflow("w") as wf:
        wf.add(flows.value)
    with pytest.raises(InvalidWorkflow, match="the block of workflow 'w' has ended"):
        wf.add(flows.value)
    with pytest.raises(InvalidWorkflow, match="has ended"), wf:
        pass
    assert Job.objects.count() == 1


# -- added to ----------------------------------------------------------------------------------------------------


@pytest.fixture
def order() -> Any:
    """A workflow of one job named "pay"."""
    with workflow("order") as wf:
        wf.add(flows.value, name="pay")
    return wf


def test_jobs_are_added_to_a_stored_workflow(order: Any) -> None:
    pay = order.members[0].handle
    with extend_workflow(order.id) as wf:
        by_id = wf.add(flows.value, name="pack", after=[pay.id])
        by_name = wf.add(flows.value, after=["pay", needs("pack", on_failure="run")])
        by_handle = wf.add(flows.value, after=pay)
    assert (wf.id, wf.key) == (order.id, order.key)
    assert edges() == {
        (by_id.id, pay.id, "cancel"), (by_name.id, pay.id, "cancel"), (by_name.id, by_id.id, "run"),
        (by_handle.id, pay.id, "cancel"),
    }  # fmt: skip
    assert set(Job.objects.values_list("workflow_id", flat=True)) == {order.id}
    with extend_workflow(order.key) as wf:
        wf.add(flows.value, after=["pack"])
    assert states(Job.objects.latest("pk")) == ["blocked"]


@pytest.mark.parametrize(
    ("state", "expected"), [("succeeded", ["ready"] * 3), ("cancelled", ["cancelled", "ready", "ready"])]
)
def test_what_has_ended_is_followed_at_once(order: Any, state: str, expected: list[str]) -> None:
    """With the policy of each edge; all in the transaction that adds them."""
    with extend_workflow(order.id) as goes_on:
        goes_on.add(flows.value)
    pay = Job.objects.filter(pk=order.members[0].handle.id)
    pay.update(state="running", lease_owner=uuid.UUID(int=1), lease_expires_at=NOW, started_at=NOW, claimed_at=NOW)
    end(pay.get(), state)
    with extend_workflow(order.id) as wf:
        added = [wf.add(flows.value, after=["pay"], on_failure=policy) for policy in ("cancel", "ignore", "run")]
        both = wf.add(flows.value, after=["pay", added[1]])
    assert [Job.objects.get(pk=handle.id).state for handle in added] == expected
    assert Job.objects.get(pk=both.id).state == ("blocked" if state == "succeeded" else "cancelled")


def refused_extension(order: Any, build: Callable[[Any], object], message: str) -> None:
    before = Job.objects.count()
    with pytest.raises(InvalidWorkflow, match=message), extend_workflow(order.id) as wf:
        build(wf)
    assert Job.objects.count() == before


def test_what_cannot_be_added(order: Any) -> None:
    alone = JobFactory()
    with workflow("other", on_completion=flows.value) as other:
        theirs = other.add(flows.value, name="theirs")
    callback = Job.objects.exclude(workflow_role=None).get()
    for given in (alone.pk, theirs.id, callback.pk, 404):
        message = f"needs {given}, but workflow {order.id} has no job of that id"
        refused_extension(order, lambda wf, given=given: wf.add(flows.value, after=[given]), message)
    refused_extension(order, lambda wf: wf.add(flows.value, after=["theirs"]), "no job of that name")
    refused_extension(order, lambda wf: wf.add(flows.value, after=theirs), "cannot need theirs, a job of workflow 'oth")
    refused_extension(order, lambda wf: wf.add(flows.value, name="pay"), "has a job named 'pay' already")
    refused_extension(order, lambda _wf: None, f"workflow {order.id} has no jobs")
    refused_extension(order, lambda wf: wf.add(flows.value, after=[True]), "needs True, which names no job")


def test_a_finished_workflow_takes_no_more(order: Any) -> None:
    end(Job.objects.get(), "cancelled")
    assert_nothing_stuck()
    refused_extension(order, lambda wf: wf.add(flows.value), f"workflow {order.id} is finished: every job")


def test_no_such_workflow() -> None:
    refused = pytest.raises(InvalidWorkflow, match="there is no workflow 404 on database 'default'")
    for act in (cancel_workflow, retry_workflow):
        with refused, transaction.atomic():
            act("default:404")
    with refused, extend_workflow(404) as wf:
        wf.add(flows.value)
    for given in ("w", "nowhere:1", "default:0", 0, 2**63):
        with pytest.raises(ValueError, match="names no workflow: pass its int id, or its key, such as 'default:42'"):
            extend_workflow(given)
    for wrong in (None, True, 1.5):
        with pytest.raises(TypeError, match="names no workflow"):
            extend_workflow(wrong)  # type: ignore[arg-type]
