"""unpark_tasks: jobs of tasks that are not paused any more come back in line."""

from __future__ import annotations

import pytest

from conveyor_django.models import Job

from ..support.factories import JobFactory, PausedTaskFactory

pytestmark = pytest.mark.django_db


def test_those_of_resumed_tasks_alone() -> None:
    PausedTaskFactory(task="paused")
    for task in ("a", "paused", "z"):
        JobFactory(parked_by_task=True, task=task, queue=task)
    JobFactory(parked_by_key=True, task="a")
    assert sorted(Job.objects.unpark_tasks(limit=10).values()) == ["a", "z"]
    assert set(Job.objects.exclude(parked=None).values_list("task", "parked")) == {("paused", "task"), ("a", "key")}


def test_the_limit_counts_over_all_tasks() -> None:
    for task in ("a", "b"):
        JobFactory.create_batch(3, parked_by_task=True, task=task)
    assert [len(Job.objects.unpark_tasks(limit=4)) for _ in range(3)] == [4, 2, 0]
