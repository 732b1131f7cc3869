"""lock_workflow: nobody else adds to a workflow, finishes it or changes it as a whole."""

from __future__ import annotations

import pytest

from conveyor_django.models import Workflow

from ..support.barriers import threads
from ..support.connections import Connect
from ..support.workflows import WorkflowFactory


@pytest.mark.django_db
def test_it_says_whether_there_is_one() -> None:
    assert Workflow.objects.lock_workflow(WorkflowFactory().pk)
    assert not Workflow.objects.lock_workflow(404)


@pytest.mark.django_db(transaction=True)
def test_who_adds_to_it_waits(connect: Connect, watcher) -> None:
    workflow = WorkflowFactory()
    mine, theirs = connect(), connect()
    with threads(watcher) as sides:
        with mine.transaction():
            assert Workflow.objects.lock_workflow(workflow.pk, on=mine)
            joining = sides.start(theirs, Workflow.objects.join_workflow, workflow.pk)
            joining.wait_until_blocked()
        assert joining.result() is True
