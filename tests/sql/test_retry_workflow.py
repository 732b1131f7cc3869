"""retry_workflow: what failed or was cancelled runs again, in the order of its edges."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django.models import Dependency, Job, Workflow

from ..support.workflows import WorkflowFactory, assert_nothing_stuck, callback, child_of, end, member, seen, states
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db

RUNNING = {
    "state": "running", "lease_owner": uuid.UUID(int=1), "lease_expires_at": NOW, "started_at": NOW, "claimed_at": NOW,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _nothing_stuck(db: None):
    yield
    assert_nothing_stuck()


def retry(workflow: Workflow) -> dict[int, str]:
    """Run it again at NOW; return {id: state}."""
    again = Workflow.objects.retry_workflow(Workflow.objects.lock_dead_jobs(workflow.pk), now=NOW)
    return {job.id: job.state.value for job in again}


def test_a_failed_job_and_all_that_it_took_with_it() -> None:
    workflow = WorkflowFactory()
    done, failing = member(workflow, "succeeded"), member(workflow, "running", attempt=3, lost_count=1, release_count=1)
    after_both = child_of(done, failing)
    last = child_of(after_both)
    Workflow.objects.resolve_edges([done.pk])
    end(failing, "failed")
    assert states(after_both, last) == ["cancelled", "cancelled"]
    Workflow.objects.finish_workflows([workflow.pk])

    before = Job.objects.get(pk=failing.pk).ready_seq
    assert retry(workflow) == {failing.pk: "ready", after_both.pk: "blocked", last.pk: "blocked"}
    assert (seen(after_both), seen(last)) == (("blocked", 1), ("blocked", 1))
    assert Workflow.objects.get().finished_at is None
    again = Job.objects.get(pk=failing.pk)
    assert (again.attempt, again.lost_count, again.release_count) == (0, 0, 0)
    assert (again.run_at, again.finished_at, again.cancel_requested_at) == (NOW, None, None)
    assert again.ready_seq > before
    assert again.lease_version == failing.lease_version
    assert set(Dependency.objects.values_list("needs_id", "resolved")) == {
        (done.pk, True), (failing.pk, False), (after_both.pk, False),
    }  # fmt: skip

    end(again, "cancelled")
    assert states(after_both, last) == ["cancelled", "cancelled"]


def test_the_second_time_it_goes_well() -> None:
    workflow = WorkflowFactory()
    first = member(workflow, "running")
    second = child_of(first)
    succeeded, failed = callback(workflow, "on_success"), callback(workflow, "on_failure")
    end(first, "failed")
    Workflow.objects.finish_workflows([workflow.pk])
    assert states(succeeded, failed) == ["cancelled", "ready"]
    # That one has begun: what runs, or has succeeded, is not repeated.
    assert retry(workflow) == {first.pk: "ready", second.pk: "blocked", succeeded.pk: "blocked"}
    assert states(failed) == ["ready"]
    for job in (first, second):
        assert states(job) == ["ready"]
        Job.objects.filter(pk=job.pk).update(**RUNNING)
        end(job, finished_at=NOW)
    assert Workflow.objects.finish_workflows([workflow.pk], now=NOW).ids == {workflow.pk}
    assert states(succeeded, failed) == ["ready", "ready"]


def test_one_that_was_cancelled_early_waits_for_what_still_runs() -> None:
    workflow = WorkflowFactory()
    failing, slow = member(workflow, "running"), member(workflow, "running")
    child = child_of(failing, slow)
    end(failing, "failed")
    assert retry(workflow) == {failing.pk: "ready", child.pk: "blocked"}
    assert seen(child) == ("blocked", 2)
    end(slow)
    assert seen(child) == ("blocked", 1)


def test_only_a_callback_that_failed() -> None:
    workflow = WorkflowFactory(finished_at=NOW)
    member(workflow, "succeeded")
    failed, unneeded = callback(workflow, "on_success", "failed"), callback(workflow, "on_failure", "cancelled")
    assert retry(workflow) == {failed.pk: "blocked", unneeded.pk: "blocked"}
    assert Workflow.objects.finish_workflows([workflow.pk], now=NOW).ids == {workflow.pk}
    assert states(failed, unneeded) == ["ready", "cancelled"]


def test_nothing_to_do() -> None:
    """A callback that did not apply is no reason to open a workflow again."""
    workflow = WorkflowFactory(finished_at=NOW)
    member(workflow, "succeeded")
    callback(workflow, "on_success", "succeeded")
    callback(workflow, "on_failure", "cancelled")
    assert retry(workflow) == {}
    assert Workflow.objects.get().finished_at == NOW


def test_only_jobs_that_are_dead() -> None:
    workflow = WorkflowFactory()
    alive = [member(workflow, state) for state in ("scheduled", "ready", "running", "succeeded")]
    assert Workflow.objects.retry_workflow([job.pk for job in alive] + [404]) == []


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    job = member(WorkflowFactory(), "failed")
    with clock() as window:
        Workflow.objects.retry_workflow([job.pk])
    assert Job.objects.get().run_at in window
