"""find_ended_workflows: unfinished, with nothing left that could end."""

from __future__ import annotations

import pytest

from conveyor_django.models import Workflow

from ..support.workflows import WorkflowFactory, callback, member
from .conftest import NOW

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_one_whose_jobs_have_ended(state: str) -> None:
    workflow = WorkflowFactory()
    member(workflow, state)
    callback(workflow, "on_success")
    assert Workflow.objects.find_ended_workflows(limit=10) == [workflow.pk]


@pytest.mark.parametrize("state", ["blocked", "scheduled", "ready", "running"])
def test_not_one_that_goes_on(state: str) -> None:
    workflow = WorkflowFactory()
    member(workflow, "succeeded")
    member(workflow, state)
    assert Workflow.objects.find_ended_workflows(limit=10) == []


def test_not_one_that_is_finished() -> None:
    member(WorkflowFactory(finished_at=NOW), "succeeded")
    assert Workflow.objects.find_ended_workflows(limit=10) == []


def test_the_oldest_within_the_limit() -> None:
    workflows = [WorkflowFactory() for _ in range(3)]
    assert Workflow.objects.find_ended_workflows(limit=2) == [workflow.pk for workflow in workflows[:2]]
