"""finish_workflows: once, when every job has ended, with the callbacks that apply."""

from __future__ import annotations

import datetime as dt

import pytest

from conveyor_django.models import Job, Workflow

from ..support.connections import Connect
from ..support.workflows import WorkflowFactory, assert_nothing_stuck, callback, member, seen, states
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db

ROLES = ("on_success", "on_failure", "on_completion")


@pytest.fixture(autouse=True)
def _nothing_stuck(db: None):
    yield
    assert_nothing_stuck()


def finish(*workflows: Workflow) -> tuple[set[int], set[str]]:
    """Look at NOW."""
    finished = Workflow.objects.finish_workflows([workflow.pk for workflow in workflows], now=NOW)
    return finished.ids, finished.queues


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        (["succeeded", "succeeded"], ["ready", "cancelled", "ready"]),
        (["succeeded", "failed"], ["cancelled", "ready", "ready"]),
        (["cancelled", "succeeded"], ["cancelled", "ready", "ready"]),
    ],
)
def test_the_callbacks_that_apply_are_released_and_the_others_cancelled(ends: list[str], expected: list[str]) -> None:
    workflow = WorkflowFactory()
    for state in ends:
        member(workflow, state)
    callbacks = [callback(workflow, role, queue=role) for role in ROLES]
    before = Job.objects.get(pk=callbacks[0].pk).ready_seq
    ready = {role for role, state in zip(ROLES, expected, strict=True) if state == "ready"}
    assert finish(workflow) == ({workflow.pk}, ready)
    assert states(*callbacks) == expected
    assert Workflow.objects.get().finished_at == NOW
    for job in Job.objects.filter(pk__in=[job.pk for job in callbacks]):
        assert job.pending_dependencies == 0
        assert job.finished_at == (NOW if job.state == "cancelled" else None)
        assert job.state == "cancelled" or before is None or job.ready_seq > before


def test_exactly_once() -> None:
    workflow = WorkflowFactory()
    member(workflow, "succeeded")
    done = callback(workflow, "on_completion")
    assert finish(workflow) == ({workflow.pk}, {"default"})
    Job.objects.cancel_job(done.pk)
    assert finish(workflow, workflow) == (set(), set())
    assert states(done) == ["cancelled"]


@pytest.mark.parametrize("state", ["blocked", "scheduled", "ready", "running"])
def test_not_while_a_job_has_not_ended(state: str) -> None:
    workflow = WorkflowFactory()
    member(workflow, "failed")
    # Blocked by one that is far from its end.
    last = member(workflow, state)
    waiting = callback(workflow, "on_failure")
    assert finish(workflow) == (set(), set())
    assert seen(waiting) == ("blocked", 1)
    Job.objects.filter(pk=last.pk).update(
        state="cancelled", finished_at=NOW, lease_owner=None, lease_expires_at=None
    )  # fmt: skip


def test_a_callback_is_no_job_of_it() -> None:
    """One that runs, or has failed, neither holds it up nor decides how it ended."""
    workflow = WorkflowFactory()
    member(workflow, "succeeded")
    callback(workflow, "on_completion", "failed")
    callback(workflow, "on_failure", "running")
    waiting = callback(workflow, "on_success")
    assert finish(workflow) == ({workflow.pk}, {"default"})
    assert states(waiting) == ["ready"]


def test_one_without_callbacks_and_those_of_others() -> None:
    plain, other, goes_on = WorkflowFactory(), WorkflowFactory(), WorkflowFactory()
    member(plain, "succeeded")
    member(other, "succeeded")
    member(goes_on)
    theirs = callback(other, "on_success")
    assert finish(plain, goes_on) == ({plain.pk}, set())
    assert states(theirs) == ["blocked"]
    assert finish() == (set(), set())
    Job.objects.filter(workflow=goes_on).update(state="cancelled", finished_at=NOW)


@pytest.mark.parametrize(("seconds", "state"), [(1, "scheduled"), (0, "ready")])
def test_a_callback_s_own_time_may_lie_ahead(seconds: int, state: str) -> None:
    workflow = WorkflowFactory()
    member(workflow, "succeeded")
    waiting = callback(workflow, "on_success", run_at=NOW + dt.timedelta(seconds=seconds))
    assert finish(workflow) == ({workflow.pk}, {"default"} if state == "ready" else set())
    assert states(waiting) == [state]


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    workflow = WorkflowFactory()
    skipped = callback(workflow, "on_failure")
    member(workflow, "succeeded")
    with clock() as window:
        Workflow.objects.finish_workflows([workflow.pk])
    assert Workflow.objects.get().finished_at in window
    assert Job.objects.get(pk=skipped.pk).finished_at in window


@pytest.mark.django_db(transaction=True)
def test_nothing_is_waited_for_and_all_callbacks_go_together(connect: Connect) -> None:
    """A callback that somebody has locked would be left behind by a workflow that finishes without it."""
    workflow = WorkflowFactory()
    member(workflow, "succeeded")
    locked, free = callback(workflow, "on_success"), callback(workflow, "on_completion")
    somebody, finisher = connect(), connect()
    finisher.execute("SET statement_timeout = '10s'")
    with somebody.transaction():
        somebody.execute("SELECT FROM conveyor_job WHERE id = %s FOR UPDATE", (locked.pk,))
        assert Workflow.objects.finish_workflows([workflow.pk], on=finisher).ids == set()
        assert states(locked, free) == ["blocked", "blocked"]
    with somebody.transaction():
        somebody.execute("SELECT FROM conveyor_workflow FOR UPDATE")
        assert Workflow.objects.finish_workflows([workflow.pk], on=finisher).ids == set()
    assert Workflow.objects.finish_workflows([workflow.pk], on=finisher).ids == {workflow.pk}
    assert states(locked, free) == ["ready", "ready"]
