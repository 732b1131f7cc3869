"""count_ready: the queues with jobs in line, how many, and since when the oldest has been ready."""

from __future__ import annotations

import datetime as dt

import pytest

from conveyor_django.models import Job

from ..support.factories import AttemptFactory, JobFactory, in_seconds
from ..support.workflows import WorkflowFactory, child_of, member

pytestmark = pytest.mark.django_db


def lines(limit: int = 1000) -> dict[str, tuple[int, bool]]:
    return {line.queue: (line.jobs, line.cut_off) for line in Job.objects.count_ready(limit=limit)}


def since() -> dt.datetime:
    [line] = Job.objects.count_ready(limit=1000)
    return line.since


def test_each_queue_with_its_jobs() -> None:
    for queue, priority in (("b", 0), ("a", -5), ("b", 100), ("a", 3), ("a", 3), ("", 0)):
        JobFactory(queue=queue, priority=priority)
    assert lines() == {"": (1, False), "a": (3, False), "b": (2, False)}


@pytest.mark.parametrize("other", ["blocked", "scheduled", "running", "succeeded", "failed", "cancelled",
                                   "parked_by_key", "parked_by_task"])  # fmt: skip
def test_what_is_not_in_line_does_not_count(other: str) -> None:
    JobFactory(**{other: True}, queue="a")
    assert lines() == {}


def test_every_queue_has_its_part_of_the_limit() -> None:
    JobFactory.create_batch(120, queue="a")
    JobFactory.create_batch(99, queue="b")
    assert lines(limit=220) == {"a": (110, True), "b": (99, False)}
    # At the least 100 of each.
    assert lines(limit=1) == {"a": (100, True), "b": (99, False)}


def test_the_oldest_of_all_priorities() -> None:
    JobFactory(priority=5, run_at=in_seconds(-10))
    oldest = JobFactory(priority=-5, run_at=in_seconds(-60))
    JobFactory(priority=-5, run_at=in_seconds(-20))
    assert since() == oldest.run_at


def test_one_that_was_given_back_has_been_ready_since_then() -> None:
    job = JobFactory(run_at=in_seconds(-600), attempt=2, lease_version=2)
    AttemptFactory(job_id=job.pk, lease_version=1, finished_at=in_seconds(-300))
    newest = AttemptFactory(job_id=job.pk, lease_version=2, finished_at=in_seconds(-30))
    assert since() == newest.finished_at


def test_one_that_was_blocked_has_been_ready_since_the_last_of_those_that_it_needed() -> None:
    parent = member(WorkflowFactory(), "succeeded")
    child = child_of(parent)
    Job.objects.filter(pk=parent.pk).update(finished_at=in_seconds(-40))
    Job.objects.filter(pk=child.pk).update(state="ready", ready_seq=1, pending_dependencies=0, run_at=in_seconds(-900))
    parent.refresh_from_db()
    assert since() == parent.finished_at


def test_a_callback_has_been_ready_since_its_workflow_was_finished() -> None:
    workflow = WorkflowFactory(finished_at=in_seconds(-50))
    JobFactory(workflow_id=workflow.pk, workflow_role="on_success", run_at=in_seconds(-900))
    assert since() == workflow.finished_at
