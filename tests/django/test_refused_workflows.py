"""Workflows that are refused or rolled back: the error names the fix, and nothing of them is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import override_settings

from conveyor_django import InvalidWorkflow, needs, workflow
from conveyor_django.compat import InvalidTask
from conveyor_django.errors import ForeignTransaction, InvalidArguments
from conveyor_django.models import Dependency, Job, Payload, Workflow
from conveyor_django.testing import immediate

from ..support import flows
from ..support.factories import JobFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_stuck")]


def assert_nothing_stored() -> None:
    assert not Workflow.objects.exists()
    assert not Job.objects.exists()
    assert not Payload.objects.exists()
    assert not Dependency.objects.exists()


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
