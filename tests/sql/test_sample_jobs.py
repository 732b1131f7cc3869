"""sample_jobs: some pages of the table, and the share that they are."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import pytest
from django.db import connection

from conveyor_django.models import Job

from ..support.connections import scalar
from ..support.factories import JobFactory, new_job
from .conftest import NOW

pytestmark = pytest.mark.django_db


def test_of_a_small_table_it_is_all() -> None:
    JobFactory.create_batch(2, queue="a")
    JobFactory(queue="a", parked_by_key=True)
    JobFactory(queue="b", failed=True, finished_at=NOW - dt.timedelta(days=3))
    rows = Job.objects.sample_jobs(pages=1000, now=NOW)
    assert sorted((row.queue, row.state, row.start, row.jobs, row.share) for row in rows) == [
        ("a", "parked", None, 1, 1.0),
        ("a", "ready", None, 2, 1.0),
        ("b", "failed", None, 1, 1.0),
    ]


def test_its_buckets_are_those_of_count_ended() -> None:
    for minutes in (0, 1, 59, 60, 61, 600, 1300):
        JobFactory(succeeded=True, finished_at=NOW - dt.timedelta(minutes=minutes))
    sampled = {(row.fine, row.start, row.jobs) for row in Job.objects.sample_jobs(pages=1000, now=NOW)}
    counted = {(row.fine, row.start, row.jobs) for row in Job.objects.count_ended(limit=100, failures=100, now=NOW)}
    assert sampled == counted


def test_of_a_larger_one_it_is_a_part_and_always_the_same() -> None:
    Job.objects.enqueue_jobs([new_job() for _ in range(1000)])
    # Of the table as it is by now: earlier tests may have left it with many more pages than these jobs take.
    pages = scalar(connection, "SELECT pg_relation_size('conveyor_job') / current_setting('block_size')::bigint")
    looks = [Job.objects.sample_jobs(pages=pages // 2) for _ in range(3)]
    [share] = {row.share for row in looks[0]}
    assert 0 < share < 1
    # Its pages are drawn; that none of them or all would be is out of the question.
    [jobs] = Counter(sum(row.jobs for row in look) for look in looks)
    assert 0 < jobs < 1000
