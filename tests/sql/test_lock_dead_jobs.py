"""lock_dead_jobs: the jobs of a workflow that may run again."""

from __future__ import annotations

import pytest

from conveyor_django.models import Workflow

from ..support.workflows import WorkflowFactory, callback, member

pytestmark = pytest.mark.django_db


def test_those_that_failed_or_were_cancelled() -> None:
    workflow = WorkflowFactory()
    for state in ("blocked", "scheduled", "ready", "running", "succeeded"):
        member(workflow, state)
    dead = [member(workflow, "failed"), member(workflow, "cancelled"), callback(workflow, "on_success", "cancelled")]
    member(WorkflowFactory(), "failed")
    assert Workflow.objects.lock_dead_jobs(workflow.pk) == [job.pk for job in dead]
    assert Workflow.objects.lock_dead_jobs(404) == []
