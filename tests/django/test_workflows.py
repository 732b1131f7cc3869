"""Workflows as a project builds them: what is stored."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync

from conveyor_django import needs, workflow
from conveyor_django.compat import task_backends
from conveyor_django.models import Dependency, Job, Payload, Workflow
from conveyor_django.workflows import JobHandle

from ..support import flows
from ..support.factories import in_seconds
from ..support.produce import plain_add
from ..support.workflows import edges

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_stuck")]


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
