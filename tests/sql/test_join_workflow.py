"""join_workflow: says whether a workflow goes on, and keeps it so."""

from __future__ import annotations

import pytest

from conveyor_django.models import Workflow

from ..support.connections import Connect
from ..support.workflows import WorkflowFactory, member
from .conftest import NOW


@pytest.mark.django_db
def test_it_says_whether_it_goes_on() -> None:
    assert Workflow.objects.join_workflow(WorkflowFactory().pk) is True
    assert Workflow.objects.join_workflow(WorkflowFactory(finished_at=NOW).pk) is False
    assert Workflow.objects.join_workflow(404) is None


@pytest.mark.django_db(transaction=True)
def test_several_may_add_at_once_and_nobody_finishes_it_meanwhile(connect: Connect) -> None:
    workflow = WorkflowFactory()
    member(workflow, "succeeded")
    one, two, finisher = connect(), connect(), connect()
    with one.transaction(), two.transaction():
        assert Workflow.objects.join_workflow(workflow.pk, on=one)
        assert Workflow.objects.join_workflow(workflow.pk, on=two)
        assert Workflow.objects.finish_workflows([workflow.pk], on=finisher).ids == set()
    assert Workflow.objects.finish_workflows([workflow.pk], on=finisher).ids == {workflow.pk}
