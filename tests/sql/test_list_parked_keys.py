"""list_parked_keys: which keys have parked jobs, page by page."""

from __future__ import annotations

import pytest

from conveyor_django.models import Job

from ..support.factories import JobFactory

pytestmark = pytest.mark.django_db


def test_each_key_once_in_order() -> None:
    for queue, key in [("b", "x"), ("a", "y"), ("a", "x"), ("a", "y")]:
        JobFactory(queue=queue, concurrency_key=key, parked="key")
    assert Job.objects.list_parked_keys(limit=10) == [("a", "x"), ("a", "y"), ("b", "x")]


def test_page_by_page() -> None:
    for key in "abcde":
        JobFactory(concurrency_key=key, parked="key")
    first = Job.objects.list_parked_keys(limit=3)
    assert first == [("default", "a"), ("default", "b"), ("default", "c")]
    assert Job.objects.list_parked_keys(limit=3, after=first[-1]) == [("default", "d"), ("default", "e")]
    assert Job.objects.list_parked_keys(limit=3, after=("default", "e")) == []


def test_what_is_in_line_or_parked_for_its_task_is_not_meant() -> None:
    JobFactory(concurrency_key="in line")
    JobFactory(concurrency_key="paused", parked="task")
    JobFactory(running=True, concurrency_key="runs")
    assert Job.objects.list_parked_keys(limit=10) == []
