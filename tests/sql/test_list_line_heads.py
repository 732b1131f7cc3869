"""list_line_heads: the first job of each queue and priority."""

from __future__ import annotations

import datetime as dt

import pytest

from conveyor_django.managers.looking import LookManager

from ..support.factories import JobFactory
from .conftest import NOW

pytestmark = pytest.mark.django_db


def test_nothing_in_line() -> None:
    JobFactory(parked_by_key=True)
    JobFactory(scheduled=True)
    assert LookManager().list_line_heads(limit=10) == []


def test_the_first_of_each_queue_and_priority() -> None:
    for queue in ("b", "a"):
        for priority in (0, 5, -5):
            for _ in range(2):
                JobFactory(queue=queue, priority=priority)
    heads = LookManager().list_line_heads(limit=100)
    assert [(head.queue, head.priority) for head in heads] == [
        ("a", 5), ("a", 0), ("a", -5), ("b", 5), ("b", 0), ("b", -5),
    ]  # fmt: skip
    # Of two that were made one after the other the first.
    assert all(head.id % 2 == heads[0].id % 2 for head in heads)


def test_how_long_it_has_waited() -> None:
    job = JobFactory(run_at=NOW - dt.timedelta(seconds=90), task="a.b")
    [head] = LookManager().list_line_heads(limit=1, now=NOW)
    assert head == ("default", 0, job.pk, "a.b", 90.0)


def test_no_more_than_asked_for() -> None:
    for queue in "abc":
        JobFactory(queue=queue)
    assert [head.queue for head in LookManager().list_line_heads(limit=2)] == ["a", "b"]
