"""count_ended: what ended within a day, by minute and by hour."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import pytest

from conveyor_django.managers.overview import EndedJobs
from conveyor_django.models import Job

from ..support.factories import JobFactory
from .conftest import NOW

pytestmark = pytest.mark.django_db

MINUTE, HOUR = dt.timedelta(minutes=1), dt.timedelta(hours=1)
THIS_MINUTE = NOW.replace(second=0, microsecond=0)
THIS_HOUR = THIS_MINUTE.replace(minute=0)


def ended(limit: int = 1000, failures: int = 1000) -> list[EndedJobs]:
    return sorted(Job.objects.count_ended(limit=limit, failures=failures, now=NOW), key=lambda row: (row.start, row))


def buckets(**limits: int) -> list[tuple[str, str, bool, dt.datetime, int]]:
    return [
        (row.queue, row.state, row.fine, dt.datetime.fromtimestamp(row.start, dt.UTC), row.jobs)
        for row in ended(**limits)
    ]


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_the_last_hour_goes_by_minute(state: str) -> None:
    for ago in (dt.timedelta(0), MINUTE, 59 * MINUTE):
        JobFactory(**{state: True}, queue="a", finished_at=THIS_MINUTE - ago)
    JobFactory(**{state: True}, queue="b", finished_at=THIS_MINUTE)
    assert buckets() == [
        ("a", state, True, THIS_MINUTE - 59 * MINUTE, 1),
        ("a", state, True, THIS_MINUTE - MINUTE, 1),
        ("a", state, True, THIS_MINUTE, 1),
        ("b", state, True, THIS_MINUTE, 1),
    ]


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_the_rest_of_the_day_goes_by_hour(state: str) -> None:
    before = THIS_MINUTE - 59 * MINUTE - dt.timedelta(microseconds=1)
    for instant in (before, THIS_HOUR - 23 * HOUR):
        JobFactory(**{state: True}, queue="a", finished_at=instant)
    JobFactory(**{state: True}, queue="a", finished_at=THIS_HOUR - 23 * HOUR - dt.timedelta(microseconds=1))
    assert buckets() == [
        ("a", state, False, THIS_HOUR - 23 * HOUR, 1),
        ("a", state, False, before.replace(minute=0, second=0, microsecond=0), 1),
    ]


def test_it_says_how_far_back_all_is_counted() -> None:
    for seconds in (1, 2, 3, 4):
        JobFactory(succeeded=True, finished_at=NOW - dt.timedelta(seconds=seconds))
    assert {(row.jobs, row.counted_since, row.failures_since) for row in ended(limit=5)} == {(4, None, None)}
    reach = int((NOW - dt.timedelta(seconds=2)).timestamp()) + 1
    assert {(row.jobs, row.counted_since, row.failures_since) for row in ended(limit=2)} == {(2, reach, None)}


def test_failures_are_counted_among_any_number_of_successes() -> None:
    JobFactory.create_batch(3, succeeded=True, finished_at=NOW)
    older, newer = (NOW - dt.timedelta(seconds=seconds) for seconds in (6, 5))
    for instant in (older, newer):
        JobFactory(failed=True, finished_at=instant)
    assert {(row.state, row.jobs) for row in ended(limit=2)} == {("succeeded", 2), ("failed", 2)}
    assert {(row.state, row.jobs) for row in ended(failures=1)} == {("succeeded", 3), ("failed", 1)}
    assert {row.failures_since for row in ended(failures=1)} == {int(newer.timestamp()) + 1}
    assert {row.failures_since for row in ended(failures=2)} == {int(older.timestamp()) + 1}
    assert {row.failures_since for row in ended(failures=3)} == {None}


def lately(**limits: int) -> dict[tuple[str, str], int]:
    tally: Counter[tuple[str, str]] = Counter()
    for row in ended(**limits):
        tally[row.queue, row.state] += row.lately
    return dict(tally)


def test_what_ended_in_a_quarter_of_an_hour() -> None:
    quarter = 15 * MINUTE
    for instant in (NOW, NOW - quarter, NOW - quarter - dt.timedelta(microseconds=1), NOW - 2 * HOUR):
        JobFactory(succeeded=True, queue="a", finished_at=instant)
        JobFactory(failed=True, queue="a", finished_at=instant)
    JobFactory(cancelled=True, queue="b", finished_at=NOW)
    assert lately() == {("a", "succeeded"): 2, ("a", "failed"): 2, ("b", "cancelled"): 1}


def test_of_late_failures_reach_no_further_than_the_rest() -> None:
    """Else some thousand successes of a minute would be held against the failures of a quarter of an hour."""
    for seconds in (1, 2, 4):
        JobFactory(succeeded=True, queue="a", finished_at=NOW - dt.timedelta(seconds=seconds))
    for seconds in (3, 5):
        JobFactory(failed=True, queue="a", finished_at=NOW - dt.timedelta(seconds=seconds))
    assert lately() == {("a", "succeeded"): 3, ("a", "failed"): 2}
    assert lately(limit=3) == {("a", "succeeded"): 2, ("a", "failed"): 1}


def test_what_has_not_ended_does_not_count() -> None:
    for state in ("blocked", "scheduled", "running"):
        JobFactory(**{state: True})
    JobFactory()
    assert ended() == []
