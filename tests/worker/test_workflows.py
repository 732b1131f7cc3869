"""Workflows that run: what dependants are told, what running jobs add, what the whole can be told to do."""

from __future__ import annotations

from typing import Any

import pytest

from conveyor_django import InvalidWorkflow, cancel_workflow, needs, requeue, retry_workflow, workflow
from conveyor_django.managers.release import follow_up
from conveyor_django.models import Job, Ledger, Workflow
from conveyor_django.testing import drain

from ..support import flows
from ..support.workflows import assert_nothing_stuck, callback, end

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_stuck(db: None):
    yield
    assert_nothing_stuck()


def result(handle: Any) -> Any:
    return Ledger.objects.get(job_id=handle.id, step="").result


def state(handle: Any) -> str:
    return Job.objects.values_list("state", flat=True).get(pk=handle.id)


def roles() -> dict[str, str]:
    return dict(Job.objects.exclude(workflow_role=None).values_list("workflow_role", "state"))


OWNER = "00000000-0000-0000-0000-000000000001"
CALLBACKS = {"on_success": flows.value, "on_failure": flows.value, "on_completion": flows.value}


# -- what a dependant is told ------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", [flows.results, flows.results_async])
def test_the_results_of_the_needed_jobs_reach_their_dependants(task: Any) -> None:
    with workflow("w") as wf:
        first = wf.add(flows.value, {"ref": [1]}, name="pay")
        second = wf.add(flows.value, after=[first], name="pack")
        unnamed = wf.add(flows.value, 7)
        wf.add(flows.value, "not needed", name="other")
        last = wf.add(task, after=[second, first, unnamed])
        alone = wf.add(task)
    drain()
    assert result(last) == {"pay": {"ref": [1]}, "pack": None, str(unnamed.id): 7}
    assert result(alone) == {}


@pytest.mark.parametrize("task", [flows.needed, flows.needed_async])
def test_one_that_goes_on_after_a_failure_is_told_unless_it_said_to_ignore_it(task: Any) -> None:
    with workflow("w") as wf:
        failed = wf.add(flows.fails, "no money", name="pay")
        cancelled = wf.add(flows.value, name="pack", after=failed)
        done = wf.add(flows.value, 1, name="greet")
        told = wf.add(task, after=[failed, cancelled, done], on_failure="run")
        careless = wf.add(task, after=[failed, needs(done, on_failure="ignore")], on_failure="ignore")
        strict = wf.add(task, after=[done, failed])
    drain()
    assert (state(failed), state(cancelled), state(strict)) == ("failed", "cancelled", "cancelled")
    greet = {"name": "greet", "job_id": None, "state": "succeeded", "result": 1, "error": None}
    assert result(careless) == {"greet": greet}
    seen = result(told)
    assert seen.pop("greet") == greet
    error = seen["pay"].pop("error")
    assert (error["error_class"], error["message"]) == ("builtins.ValueError", "no money")
    nothing = {"job_id": None, "result": None}
    assert seen == {
        "pay": {"name": "pay", "state": "failed", **nothing},
        "pack": {"name": "pack", "state": "cancelled", "error": None, **nothing},
    }


def test_a_retry_is_no_end() -> None:
    """A dependant waits for the last run."""
    with workflow("w") as wf:
        first = wf.add(flows.fails.using(max_attempts=2))
        second = wf.add(flows.value, after=first, on_failure="run")
    drain()
    assert (state(first), state(second)) == ("scheduled", "blocked")
    cancel_workflow(wf.id)


# -- callbacks ---------------------------------------------------------------------------------------------------


def test_all_went_well() -> None:
    with workflow("w", **CALLBACKS) as wf:
        wf.add(flows.value, after=[wf.add(flows.value)])
    drain()
    assert roles() == {"on_success": "succeeded", "on_failure": "cancelled", "on_completion": "succeeded"}
    assert Workflow.objects.get().finished_at is not None


def test_something_failed() -> None:
    with workflow("w", **CALLBACKS) as wf:
        wf.add(flows.value, after=[wf.add(flows.gives_up)], on_failure="ignore")
    drain()
    assert roles() == {"on_success": "cancelled", "on_failure": "succeeded", "on_completion": "succeeded"}


# -- added by a job that runs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", [flows.fans_out, flows.fans_out_atomically])
def test_a_running_job_adds_to_its_workflow(task: Any) -> None:
    with workflow("w", on_success=flows.value) as wf:
        first = wf.add(task, 3)
        wf.add(flows.value, after=first)
    drain()
    assert result(first) == wf.id
    assert Ledger.objects.get(job__payload__name="gather").result == {"part 0": 0, "part 1": 1, "part 2": 2}
    assert set(Job.objects.values_list("state", "workflow_id")) == {("succeeded", wf.id)}


def test_an_async_one_too() -> None:
    with workflow("w") as wf:
        wf.add(flows.fans_out_async, 3)
    drain()
    assert Ledger.objects.get(job__payload__name="part").result == 3


def test_a_child_that_needs_the_job_which_adds_it() -> None:
    with workflow("w", on_success=flows.value) as wf:
        first = wf.add(flows.follows_itself)
    drain()
    assert Ledger.objects.get(job__payload__name="then").result == {str(first.id): None}
    assert roles() == {"on_success": "succeeded"}


def test_in_an_effect_it_is_one_commit_with_the_success() -> None:
    with workflow("w") as wf:
        first = wf.add(flows.fans_out_in_its_effect)
    drain()
    assert Job.objects.get(pk=first.id).attempt == 2
    assert Job.objects.filter(payload__name="part", state="succeeded").count() == 1


def test_what_raises_in_the_block_adds_nothing() -> None:
    with workflow("w") as wf:
        wf.add(flows.fans_out_and_fails)
    drain()
    assert Job.objects.count() == 1


def test_a_zombie_adds_nothing() -> None:
    with workflow("w") as wf:
        first = wf.add(flows.loses_its_lease)
    drain()
    # Neither its job nor its outcome.
    assert list(Job.objects.values_list("pk", "state", "lease_version")) == [(first.id, "running", 2)]


def test_a_job_of_no_workflow_has_nothing_to_add_to() -> None:
    flows.fans_out.using(max_attempts=1).enqueue(1)
    [ended] = drain()
    assert ended.errors[-1].exception_class is InvalidWorkflow
    assert "belongs to no workflow, so there is nothing to add to" in ended.errors[-1].traceback


def test_a_job_may_begin_another_workflow() -> None:
    with workflow("w") as wf:
        wf.add(flows.begins_another)
    drain()
    assert set(Workflow.objects.values_list("name", flat=True)) == {"w", "another"}
    assert set(Job.objects.values_list("state", flat=True)) == {"succeeded"}


# -- as a whole --------------------------------------------------------------------------------------------------


def test_a_workflow_that_is_cancelled_ends_with_its_callbacks() -> None:
    with workflow("w", **CALLBACKS) as wf:
        first = wf.add(flows.value)
        second = wf.add(flows.value, after=first, on_failure="run")
    assert cancel_workflow(wf.key) == {first.id: "cancelled", second.id: "cancelled"}
    assert cancel_workflow(wf.id) == {}
    assert_nothing_stuck()
    drain()
    assert roles() == {"on_success": "cancelled", "on_failure": "succeeded", "on_completion": "succeeded"}


def test_a_workflow_runs_again(settings: Any) -> None:
    with workflow("w", **CALLBACKS) as wf:
        done = wf.add(flows.value, 1)
        failed = wf.add(flows.fails, after=done)
        last = wf.add(flows.results, after=[failed])
    drain()
    assert [state(handle) for handle in (done, failed, last)] == ["succeeded", "failed", "cancelled"]
    # It was mended.
    Job.objects.filter(pk=failed.id).update(task=flows.value.module_path)
    assert retry_workflow(wf.key) == [failed.id, last.id]
    drain()
    assert [state(handle) for handle in (done, failed, last)] == ["succeeded"] * 3
    assert Job.objects.get(pk=done.id).lease_version == 1
    assert result(last) == {str(failed.id): None}
    # What has succeeded is not repeated; the one that did not apply the first time runs now.
    assert roles() == dict.fromkeys(CALLBACKS, "succeeded")
    assert set(Job.objects.exclude(workflow_role=None).values_list("lease_version", flat=True)) == {1}
    assert retry_workflow(wf.id) == []


@pytest.mark.parametrize("state", ["ready", "scheduled", "running"])
def test_not_while_a_callback_of_its_end_goes_on(state: str) -> None:
    """It would run in the midst of the new try, and not after it."""
    with workflow("w", on_success=flows.value, on_failure=flows.value) as wf:
        first = wf.add(flows.value)
    cancel_workflow(wf.id)
    assert_nothing_stuck()
    told = Job.objects.get(workflow_role="on_failure")
    assert told.state == "ready"
    if state != "ready":
        leased = {"lease_owner": OWNER, "lease_expires_at": told.run_at, "claimed_at": told.run_at, "lease_version": 1}
        # Two steps, as the table of transitions has them.
        Job.objects.filter(pk=told.pk).update(state="running", started_at=told.run_at, **leased)
        if state == "scheduled":
            end(told, "scheduled", finished_at=None)
    with pytest.raises(InvalidWorkflow, match=rf"its on_failure callback, job {told.pk} \({state}\), has not ended"):
        retry_workflow(wf.id)
    assert Job.objects.get(pk=first.id).state == "cancelled"
    end(told, "cancelled")
    assert retry_workflow(wf.id) == [first.id]
    drain()
    assert roles() == {"on_success": "succeeded", "on_failure": "cancelled"}


def test_a_callback_that_failed_waits_for_no_other() -> None:
    """No job runs again: the end that the others belong to stands."""
    with workflow("w", on_success=flows.fails) as wf:
        wf.add(flows.value)
    drain()
    assert roles() == {"on_success": "failed"}
    callback(Workflow.objects.get(), "on_completion", "ready")
    assert retry_workflow(wf.id) == []
    assert_nothing_stuck()
    assert roles() == {"on_success": "ready", "on_completion": "ready"}


def test_a_single_job_of_it_runs_again_alone() -> None:
    """Whatever it needs; its dependants stay as they are, and so does the workflow."""
    with workflow("w", **CALLBACKS) as wf:
        failed = wf.add(flows.fails)
        last = wf.add(flows.needed, after=failed)
    drain()
    assert requeue(last.id) == [last.id]
    drain()
    assert (state(failed), state(last)) == ("failed", "succeeded")
    assert result(last)[str(failed.id)]["state"] == "failed"
    assert requeue(failed.id) == [failed.id]
    drain()
    assert Workflow.objects.get().finished_at is not None
    assert roles() == {"on_success": "cancelled", "on_failure": "succeeded", "on_completion": "succeeded"}


def test_the_queues_to_wake_after_an_end() -> None:
    with workflow("w", on_success=flows.value.using(queue_name="orders")) as wf:
        first = wf.add(flows.value)
    assert follow_up(alias="default", ended=[first.id], workflows=[wf.id]) == set()
    Job.objects.cancel_job(first.id)
    retry_workflow(wf.id)
    [run] = Job.objects.claim_jobs(owner=OWNER, queues={"default": 30.0}, limit=1)
    from conveyor_django.outcomes import Succeed

    Job.objects.succeed_jobs([Succeed(id=run.id, version=run.version)], owner=OWNER)
    assert follow_up(alias="default", ended=[first.id], workflows=[wf.id]) == {"orders"}
    assert follow_up(alias="default", ended=[first.id], workflows=[wf.id]) == set()
