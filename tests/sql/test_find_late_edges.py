"""find_late_edges: jobs that have ended, or are gone, and that somebody still waits for."""

from __future__ import annotations

import pytest

from conveyor_django.models import Dependency, Job, Workflow

from ..support.workflows import WorkflowFactory, child_of, end, member

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_one_that_has_ended(state: str) -> None:
    late = member(WorkflowFactory(), state)
    child_of(late)
    child_of(late)
    assert Workflow.objects.find_late_edges(limit=10) == [late.pk]


@pytest.mark.parametrize("state", ["blocked", "scheduled", "ready", "running"])
def test_not_one_that_has_not(state: str) -> None:
    child_of(member(WorkflowFactory(), state))
    assert Workflow.objects.find_late_edges(limit=10) == []


def test_one_that_is_gone() -> None:
    gone = member(WorkflowFactory(), "succeeded")
    child_of(gone)
    Job.objects.filter(pk=gone.pk)._raw_delete("default")
    assert Workflow.objects.find_late_edges(limit=10) == [gone.pk]


def test_not_one_whose_edges_are_resolved() -> None:
    parent = member(WorkflowFactory(), "running")
    child_of(parent)
    end(parent)
    assert Dependency.objects.get().resolved
    assert Workflow.objects.find_late_edges(limit=10) == []


def test_within_the_limit_and_behind_the_last() -> None:
    late = [member(WorkflowFactory(), "failed") for _ in range(3)]
    for parent in late:
        child_of(parent)
    first, second, third = (parent.pk for parent in late)
    assert sorted(Workflow.objects.find_late_edges(limit=2)) == [first, second]
    assert Workflow.objects.find_late_edges(limit=2, after=second) == [third]
    assert Workflow.objects.find_late_edges(limit=2, after=third) == []
