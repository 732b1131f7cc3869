"""list_queues: the queues that have ready jobs."""

from __future__ import annotations

import pytest

from conveyor_django.models import Job

from ..support.factories import JobFactory

pytestmark = pytest.mark.django_db


def test_none() -> None:
    assert Job.objects.list_queues() == []


def test_each_queue_with_ready_jobs_once() -> None:
    for queue in ("b", "a", "b", "", "ä", "B"):
        JobFactory(queue=queue, priority=len(queue))
    queues = Job.objects.list_queues()
    assert sorted(queues) == sorted(["a", "b", "", "ä", "B"])


@pytest.mark.parametrize("state", ["blocked", "scheduled", "running", "succeeded", "failed", "cancelled"])
def test_other_states_do_not_count(state: str) -> None:
    JobFactory(**{state: True}, queue="a")
    JobFactory(queue="b")
    assert Job.objects.list_queues() == ["b"]
