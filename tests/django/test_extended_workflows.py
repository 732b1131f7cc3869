"""Jobs that are added to a stored workflow: what they may need, and what is refused."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from conveyor_django import InvalidWorkflow, cancel_workflow, extend_workflow, needs, retry_workflow, workflow
from conveyor_django.models import Job

from ..support import flows
from ..support.factories import JobFactory
from ..support.workflows import assert_nothing_stuck, edges, end, states

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_stuck")]

NOW = dt.datetime(2031, 5, 6, 7, 8, 9, tzinfo=dt.UTC)


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
