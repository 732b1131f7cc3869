"""count_retried: runs within a day that failed or were lost and did not end their job, by minute and by hour."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from conveyor_django.managers.overview import RetriedRuns
from conveyor_django.models import Attempt, Job
from conveyor_django.outcomes import Ended, Fail, Retry
from conveyor_django.states import Verb

from ..support.factories import ERROR, AttemptFactory, JobFactory
from .conftest import NOW

pytestmark = pytest.mark.django_db

MINUTE, HOUR = dt.timedelta(minutes=1), dt.timedelta(hours=1)
THIS_MINUTE = NOW.replace(second=0, microsecond=0)
THIS_HOUR = THIS_MINUTE.replace(minute=0)


def runs(*instants: dt.datetime, queue: str = "a", verb: str = Verb.RETRY, **job: Any) -> None:
    """Record a run of a job of its own for each instant, as they would come: the oldest first."""
    for instant in sorted(instants):
        AttemptFactory(job_id=JobFactory(queue=queue, **job).pk, verb=verb, finished_at=instant)


def retried(limit: int = 1000) -> list[RetriedRuns]:
    return sorted(Job.objects.count_retried(limit=limit, now=NOW), key=lambda row: (row.start, row))


def buckets(limit: int = 1000) -> list[tuple[str, bool, dt.datetime, int]]:
    return [(row.queue, row.fine, dt.datetime.fromtimestamp(row.start, dt.UTC), row.runs) for row in retried(limit)]


def test_nothing_at_all() -> None:
    assert retried() == []


def test_the_last_hour_goes_by_minute() -> None:
    runs(*(THIS_MINUTE - ago for ago in (dt.timedelta(0), MINUTE, 59 * MINUTE)))
    runs(THIS_MINUTE, NOW, queue="b")
    assert buckets() == [
        ("a", True, THIS_MINUTE - 59 * MINUTE, 1),
        ("a", True, THIS_MINUTE - MINUTE, 1),
        ("a", True, THIS_MINUTE, 1),
        ("b", True, THIS_MINUTE, 2),
    ]
    assert {row.exact for row in retried()} == {True}


def test_the_rest_of_the_day_goes_by_hour() -> None:
    before, moment = THIS_MINUTE - 59 * MINUTE, dt.timedelta(microseconds=1)
    runs(before - moment, THIS_HOUR - 23 * HOUR, THIS_HOUR - 23 * HOUR - moment)
    assert buckets() == [
        ("a", False, THIS_HOUR - 23 * HOUR, 1),
        ("a", False, (before - moment).replace(minute=0, second=0, microsecond=0), 1),
    ]


@pytest.mark.parametrize("verb", [verb.value for verb in Attempt.VERBS])
def test_runs_that_failed_or_were_lost(verb: str) -> None:
    runs(NOW, verb=verb)
    assert bool(retried()) == (verb in {"retry", "fail", "rescue"})


def test_a_run_that_ended_its_job_is_none_and_the_earlier_ones_are() -> None:
    job = JobFactory(failed=True, finished_at=NOW)
    for version, verb in enumerate(("retry", "rescue", "fail"), start=1):
        ago = dt.timedelta(seconds=3 - version)
        AttemptFactory(job_id=job.pk, lease_version=version, verb=verb, finished_at=NOW - ago)
    assert [row.runs for row in retried()] == [2]


@pytest.mark.parametrize(("kind", "counted"), [(Retry, 1), (Fail, 0)])
def test_a_run_as_a_worker_ends_it(kind: type[Ended], counted: int) -> None:
    job = JobFactory(running=True)
    outcome = kind(id=job.pk, version=job.lease_version, error=ERROR)
    Job.objects.end_attempts([outcome], owner=job.lease_owner, keep=100, max_releases=100, now=NOW)
    assert Attempt.objects.count() == 1
    assert sum(row.runs for row in retried()) == counted


def test_a_failed_job_that_runs_again_was_retried() -> None:
    job = JobFactory(failed=True, finished_at=NOW)
    AttemptFactory(job_id=job.pk, verb="fail", finished_at=NOW)
    assert retried() == []
    Job.objects.requeue_jobs([job.pk])
    assert [row.runs for row in retried()] == [1]


def test_a_run_whose_job_is_gone_does_not_count() -> None:
    AttemptFactory(job_id=JobFactory().pk + 1, finished_at=NOW)
    assert retried() == []


def test_a_run_that_began_to_end_first_and_drew_the_later_id_counts() -> None:
    for border in (THIS_HOUR - 23 * HOUR, THIS_MINUTE - 59 * MINUTE):
        for seconds in (1, -1, 2):
            AttemptFactory(job_id=JobFactory().pk, finished_at=border + dt.timedelta(seconds=seconds))
    # Of the first three the one before the day does not; all others do, in the hour or before it.
    assert sum(row.runs for row in retried()) == 5


def test_many_are_estimated_from_a_part_that_is_always_the_same() -> None:
    _many(1000, NOW - MINUTE)
    assert [(row.runs, row.exact) for row in retried(limit=1000)] == [(1000, True)]
    looks = [retried(limit=100) for _ in range(3)]
    assert looks[0] == looks[1] == looks[2]
    [row] = looks[0]
    # Each that is read stands for sixteen; what is drawn at either end may lie outside.
    assert not row.exact
    assert 1000 - 32 <= row.runs <= 1000 + 32


def test_few_are_counted_beside_many() -> None:
    """The hour and the day before it are each counted as well as they can be."""
    runs(NOW - 2 * HOUR, NOW - 3 * HOUR)
    _many(1000, NOW - MINUTE)
    assert [(row.fine, row.exact, row.runs) for row in retried(limit=100)][:2] == [(False, True, 1)] * 2


def test_no_run_is_counted_for_the_hour_and_for_the_day_before_it() -> None:
    jobs = [JobFactory(queue=f"q{place}") for place in range(80)]
    instants = [NOW - 2 * HOUR] * 40 + [NOW - MINUTE] * 40
    for first in range(1, 17):
        Attempt.objects.all().delete()
        Attempt.objects.bulk_create(
            AttemptFactory.build(id=first + place, job_id=job.pk, finished_at=instant)
            for place, (job, instant) in enumerate(zip(jobs, instants, strict=True))
        )
        assert {row.runs for row in retried(limit=40)} == {1}
        # Each that is read stands for as many as any other, though the part before may end amidst these.
        assert {row.runs for row in retried(limit=5)} == {8}


def test_what_comes_at_every_second_place_is_neither_all_nor_nothing() -> None:
    _many(1000, NOW - MINUTE, queues=("a", "b"))
    found = {row.queue: row.runs for row in retried(limit=100)}
    assert min(found["a"], found["b"]) > 250


def _many(count: int, instant: dt.datetime, queues: tuple[str, ...] = ("a",)) -> None:
    jobs = [JobFactory(queue=queue) for queue in queues]
    Attempt.objects.bulk_create(
        AttemptFactory.build(job_id=jobs[place % len(jobs)].pk, lease_version=place, finished_at=instant)
        for place in range(count)
    )


@pytest.mark.parametrize("ids", [[1, 2, 9_000_000_000_000], [-5, 1, 7], [10**12 * n for n in range(1, 6)]])
def test_few_are_counted_however_far_their_ids_lie_apart(ids: list[int]) -> None:
    for number, place in enumerate(ids):
        AttemptFactory(id=place, job_id=JobFactory().pk, finished_at=NOW - MINUTE * (len(ids) - number))
    assert sum(row.runs for row in retried()) == len(ids)
    assert {row.exact for row in retried()} == {True}
