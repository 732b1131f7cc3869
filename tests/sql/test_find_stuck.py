"""find_stuck: every blocked job that nothing will release, with the reason, and no other."""

from __future__ import annotations

import pytest

from conveyor_django.models import Dependency, Job, Workflow

from ..support.workflows import WorkflowFactory, callback, child_of, member
from .conftest import NOW

pytestmark = pytest.mark.django_db


def reasons() -> dict[int, str]:
    return {stuck.id: stuck.reason for stuck in Workflow.objects.find_stuck(limit=10)}


@pytest.mark.parametrize("state", ["scheduled", "ready", "running"])
def test_what_waits_for_a_job_that_goes_on_is_not_stuck(state: str) -> None:
    workflow = WorkflowFactory()
    parent = member(workflow, state)
    child_of(child_of(parent), parent)
    callback(workflow, "on_success")
    assert reasons() == {}


def test_a_count_that_is_not_that_of_its_edges() -> None:
    child = child_of(member(WorkflowFactory()), pending_dependencies=2)
    assert reasons() == {child.pk: "it counts 2 jobs to wait for, and has 1 unresolved edges"}


def test_no_edges_at_all() -> None:
    alone = member(WorkflowFactory(), "blocked")
    assert reasons() == {alone.pk: "it counts 1 jobs to wait for, and has 0 unresolved edges"}


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_all_that_it_waits_for_has_ended(state: str) -> None:
    workflow = WorkflowFactory()
    child = child_of(member(workflow, state))
    assert reasons() == {child.pk: "every job that it waits for has ended or is gone"}
    gone = member(workflow)
    orphan = child_of(gone)
    Job.objects.filter(pk=gone.pk)._raw_delete("default")
    assert set(reasons()) == {child.pk, orphan.pk}


def test_one_that_still_waits_for_another_is_not() -> None:
    workflow = WorkflowFactory()
    child_of(member(workflow, "failed"), member(workflow, "running"))
    assert reasons() == {}


def test_a_resolved_edge_does_not_count() -> None:
    child = child_of(member(WorkflowFactory()))
    Dependency.objects.update(resolved=True)
    assert set(reasons()) == {child.pk}


def test_a_callback_without_anything_to_wait_for() -> None:
    finished, gone, ended = WorkflowFactory(finished_at=NOW), WorkflowFactory(), WorkflowFactory()
    of_finished, of_gone, of_ended = (callback(workflow, "on_success") for workflow in (finished, gone, ended))
    member(ended, "succeeded")
    gone.delete()
    assert reasons() == {
        of_finished.pk: "it is a callback, and its workflow is finished",
        of_gone.pk: "it is a callback, and its workflow does not exist",
        of_ended.pk: "it is a callback, and every job of its workflow has ended",
    }


def test_within_the_limit() -> None:
    for _ in range(3):
        member(WorkflowFactory(), "blocked")
    assert len(Workflow.objects.find_stuck(limit=2)) == 2
