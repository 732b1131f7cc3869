"""prune_workflows: finished ones go after the last of their jobs; and what prune_jobs leaves to them."""

from __future__ import annotations

import datetime as dt

import pytest

from conveyor_django.models import Dependency, Job, Workflow

from ..support.factories import QueueFactory
from ..support.workflows import WorkflowFactory, child_of, member
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


def before(seconds: float) -> dt.datetime:
    return NOW - dt.timedelta(seconds=seconds)


def prune_jobs() -> int:
    return Job.objects.prune_jobs(limit=100, retention=10.0, failed_retention=100.0, now=NOW)


def prune(retention: float | None = 10.0, failed_retention: float | None = 100.0, limit: int = 100) -> int:
    return Workflow.objects.prune_workflows(
        limit=limit, retention=retention, failed_retention=failed_retention, now=NOW
    )


def test_a_job_stays_while_its_workflow_goes_on() -> None:
    workflow = WorkflowFactory()
    member(workflow, "succeeded", finished_at=before(11))
    member(workflow)
    assert (prune_jobs(), prune()) == (0, 0)
    Workflow.objects.update(finished_at=before(11))
    assert (prune_jobs(), prune()) == (1, 0)


def test_its_edges_go_with_the_jobs_and_it_goes_last() -> None:
    workflow = WorkflowFactory(finished_at=before(11))
    old = member(workflow, "succeeded", finished_at=before(12))
    middle = child_of(old, state="succeeded", finished_at=before(11))
    young = child_of(middle, state="succeeded", finished_at=before(9))
    assert (prune_jobs(), prune()) == (2, 0)
    assert list(Dependency.objects.values_list("job_id", flat=True)) == [young.pk]
    Job.objects.filter(pk=young.pk).update(finished_at=before(11))
    assert (prune_jobs(), prune()) == (1, 1)
    assert not Dependency.objects.exists()
    assert not Workflow.objects.exists()


def test_one_that_goes_on_stays_without_jobs_and_one_that_has_just_finished_too() -> None:
    WorkflowFactory()
    WorkflowFactory(finished_at=before(10))
    WorkflowFactory(finished_at=before(10.001))
    assert (prune(), prune()) == (1, 0)


def test_no_retention_keeps_for_ever() -> None:
    WorkflowFactory(finished_at=before(1e8))
    assert prune(retention=None, failed_retention=None) == 0
    QueueFactory(name="short", retention_seconds=1)
    assert prune(retention=None, failed_retention=None) == 1


def test_the_oldest_first_within_the_limit() -> None:
    young, _old, _oldest = (WorkflowFactory(finished_at=before(age)) for age in (20, 30, 40))
    assert prune(limit=2) == 2
    assert Workflow.objects.get() == young


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    with clock() as window:
        pass
    WorkflowFactory(finished_at=window.opened)
    assert Workflow.objects.prune_workflows(limit=1, retention=0, failed_retention=0) == 1
