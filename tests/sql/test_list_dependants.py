"""list_dependants: whom to wake after an end, and whether something is left to resolve."""

from __future__ import annotations

import pytest

from conveyor_django.models import Workflow

from ..support.workflows import WorkflowFactory, child_of, end, member

pytestmark = pytest.mark.django_db


def test_the_queues_where_something_is_ready() -> None:
    workflow = WorkflowFactory()
    parent, other = member(workflow, "running"), member(workflow, "running")
    for queue in ("a", "a", "b"):
        child_of(parent, queue=queue)
    child_of(parent, other, queue="c")
    child_of(other, queue="d")
    end(parent)
    assert Workflow.objects.list_dependants([parent.pk]) == ({"a", "b"}, False)


def test_an_edge_that_is_late() -> None:
    late = member(WorkflowFactory(), "succeeded")
    child_of(late, queue="a")
    assert Workflow.objects.list_dependants([late.pk]) == (set(), True)


def test_one_that_nobody_needs() -> None:
    assert Workflow.objects.list_dependants([member(WorkflowFactory(), "succeeded").pk, 404]) == (set(), False)
    assert Workflow.objects.list_dependants([]) == (set(), False)
