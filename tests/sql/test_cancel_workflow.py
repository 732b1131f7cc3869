"""cancel_workflow: what waits at once, what runs by a request; callbacks are left to the end."""

from __future__ import annotations

import pytest

from conveyor_django.models import Job, Workflow

from ..support.workflows import WorkflowFactory, assert_nothing_stuck, callback, child_of, member, states
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


def test_each_state() -> None:
    workflow = WorkflowFactory()
    ready, scheduled, running = (member(workflow, state) for state in ("ready", "scheduled", "running"))
    ended = [member(workflow, state) for state in ("succeeded", "failed", "cancelled")]
    parked = member(workflow, parked="key", concurrency_key="k")
    blocked = child_of(running)
    done = callback(workflow, "on_completion")
    other = member(WorkflowFactory())
    before = list(Job.objects.filter(pk__in=[job.pk for job in [*ended, done, other]]).order_by("pk").values())
    reached = Workflow.objects.cancel_workflow(workflow.pk, now=NOW)
    assert reached == {
        ready.pk: "cancelled", scheduled.pk: "cancelled", parked.pk: "cancelled", blocked.pk: "cancelled",
        running.pk: "running",
    }  # fmt: skip
    for job in Job.objects.filter(pk__in=reached):
        assert (job.cancel_requested_at, job.parked) == (NOW, None)
        assert job.finished_at == (NOW if job.state == "cancelled" else None)
    assert list(Job.objects.filter(pk__in=[job.pk for job in [*ended, done, other]]).order_by("pk").values()) == before


def test_a_whole_graph_at_once_whatever_its_policies() -> None:
    workflow = WorkflowFactory()
    first = member(workflow)
    told = child_of(first, on_failure="run")
    last = child_of(told, on_failure="ignore")
    done = callback(workflow, "on_completion")
    assert set(Workflow.objects.cancel_workflow(workflow.pk).values()) == {"cancelled"}
    assert states(first, told, last) == ["cancelled"] * 3
    assert_nothing_stuck()
    assert states(done) == ["ready"]


def test_a_request_that_was_made_before_stays_as_it_was() -> None:
    job = member(WorkflowFactory(), "running", cancel_requested_at=NOW)
    Workflow.objects.cancel_workflow(job.workflow_id)
    assert Job.objects.get().cancel_requested_at == NOW


def test_nothing_of_nobody() -> None:
    assert Workflow.objects.cancel_workflow(404) == {}


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    job = member(WorkflowFactory())
    with clock() as window:
        Workflow.objects.cancel_workflow(job.workflow_id)
    assert Job.objects.get().finished_at in window
