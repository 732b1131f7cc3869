"""conveyor_explain of jobs that wait for others."""

from __future__ import annotations

import pytest

from conveyor_django.models import Dependency, Job, Worker
from conveyor_django.operate.explain import explain

from ..support.workflows import WorkflowFactory, callback, child_of, member
from .conftest import Stage, codes, only_reason

pytestmark = pytest.mark.django_db


def test_it_waits_for_jobs(fleet: Worker) -> None:
    workflow = WorkflowFactory()
    first, second = member(workflow), member(workflow, "running")
    reason = only_reason(child_of(first, second))
    assert reason.code == "waits_for_jobs"
    assert f"it waits for 2 jobs to end: {first.pk} (ready) and {second.pk} (running)." in reason.text
    assert reason.remedy.endswith(f"manage.py conveyor_explain default:{first.pk}")


def test_what_it_waits_for_waits_itself(fleet: Worker) -> None:
    workflow = WorkflowFactory()
    root, other = member(workflow, "scheduled"), member(workflow, "succeeded")
    middle = child_of(child_of(root), on_failure="run")
    Dependency.objects.create(job=middle, needs=other, resolved=True)
    reason = only_reason(child_of(middle))
    assert f"{middle.pk} (blocked). Of these some wait themselves; the first to end is {root.pk}." in reason.text
    assert reason.remedy.endswith(f"manage.py conveyor_explain default:{root.pk}")


def test_one_that_it_needs_has_failed(fleet: Worker) -> None:
    workflow = WorkflowFactory()
    going, failed = member(workflow), member(workflow, "failed")
    child = child_of(going, failed, on_failure="ignore", pending_dependencies=1)
    Dependency.objects.filter(needs=failed).update(resolved=True)
    explanation = explain(child.pk)
    assert codes(explanation) == ["waits_for_jobs", "needed_job_failed"]
    assert f"{failed.pk} (failed, on_failure=ignore)" in explanation.reasons[1].text
    assert explanation.reasons[1].remedy.endswith(f"manage.py conveyor_retry default:{failed.pk}")


def test_it_was_not_told_of_an_end(fleet: Worker) -> None:
    ended = member(WorkflowFactory(), "succeeded")
    reason = only_reason(child_of(ended))
    assert reason.code == "waits_for_sweep"
    assert f"({ended.pk})" in reason.text


def test_it_was_not_told_and_nobody_sweeps(stage: Stage) -> None:
    gone = member(WorkflowFactory())
    child = child_of(gone)
    Job.objects.filter(pk=gone.pk).delete()
    assert codes(explain(child.pk)) == ["waits_for_sweep", "no_scheduler"]


def test_it_waits_for_nothing(fleet: Worker) -> None:
    assert only_reason(member(WorkflowFactory(), "blocked")).code == "stuck"


def test_a_callback_waits_for_its_workflow(fleet: Worker) -> None:
    workflow = WorkflowFactory()
    first = member(workflow)
    member(workflow, "running")
    member(workflow, "succeeded")
    reason = only_reason(callback(workflow, "on_success"))
    assert reason.code == "waits_for_workflow"
    assert f"it is the on_success callback of workflow {workflow.pk}" in reason.text
    assert "the end of 2 jobs of it (1 ready, 1 running)" in reason.text
    assert reason.remedy.endswith(f"manage.py conveyor_explain default:{first.pk}")


def test_a_callback_of_a_workflow_that_has_ended(fleet: Worker) -> None:
    workflow = WorkflowFactory()
    member(workflow, "succeeded")
    assert only_reason(callback(workflow, "on_success")).code == "stuck"
