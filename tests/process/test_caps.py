"""Exact caps under real workers that are killed: by the database's own record, in the order of its commits."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator

import pytest
from django.db import connections

from conveyor_django import enqueue_many, set_caps
from conveyor_django.models import Job
from conveyor_django.states import TERMINAL
from tests.support import jobs
from tests.support.processes import running
from tests.support.waits import wait_until

# Numbers are drawn under a lock that is kept until the commit has been seen: they go in the order of the commits.
RECORD = """
CREATE TABLE IF NOT EXISTS test_record (
    number bigint GENERATED ALWAYS AS IDENTITY, job_id bigint NOT NULL, key text NOT NULL, change integer NOT NULL
);
TRUNCATE test_record;
CREATE OR REPLACE FUNCTION test_record() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM pg_advisory_xact_lock(4711);
    INSERT INTO test_record (job_id, key, change)
    VALUES (NEW.id, coalesce(NEW.concurrency_key, ''), CASE WHEN NEW.state = 'running' THEN 1 ELSE -1 END);
    RETURN NULL;
END
$body$;
CREATE OR REPLACE TRIGGER test_record AFTER UPDATE OF state ON conveyor_job
    FOR EACH ROW WHEN (OLD.state <> NEW.state AND 'running' IN (OLD.state, NEW.state)) EXECUTE FUNCTION test_record();
"""


@pytest.fixture
def record(_database: None) -> Iterator[None]:
    """Record each start and each end of a run."""
    with connections["default"].cursor() as cursor:
        cursor.execute(RECORD)
    yield
    with connections["default"].cursor() as cursor:
        cursor.execute("DROP TRIGGER test_record ON conveyor_job")


def recorded() -> list[tuple[int, str, int]]:
    """Return (job, key, +1 or −1) of each start and end, in the order of the commits."""
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT job_id, key, change FROM test_record ORDER BY number")
        return list(cursor.fetchall())


def most_at_once(changes: list[int]) -> int:
    """Return the largest number of runs that were open at once."""
    now = most = 0
    for change in changes:
        now += change
        most = max(most, now)
    assert now == 0
    return most


def run_with_kills(count: int, kills: int) -> None:
    """Let two processes of ten slots run all jobs, and kill one of them now and then, in the middle of its work."""
    terminal = [state.value for state in TERMINAL]

    def ended() -> int:
        return Job.objects.filter(state__in=terminal).count()

    with running("conveyor_worker", "--processes", "2", "--concurrency", "10", lease=600.0) as worker:
        worker.wait_for("worker.started", count=2)
        for kill in range(1, kills + 1):
            wait_until(lambda n=kill: ended() >= n * count // (kills + 1), "some more have ended", patience=60.0)
            wait_until(lambda: len(worker.child_pids()) == 2, "both are there")
            os.kill(worker.child_pids()[kill % 2], signal.SIGKILL)
            worker.wait_for("child.died", count=kill)
        wait_until(lambda: ended() == count, "all have ended", patience=90.0)


SIZES = [(80, 1), pytest.param(500, 5, marks=pytest.mark.long)]


@pytest.mark.parametrize(("count", "kills"), SIZES)
def test_never_more_than_the_exact_cap_of_a_queue(count: int, kills: int, record: None, desk) -> None:
    set_caps("default", exact=3)
    enqueue_many(jobs.quick.bind(desk.folder, f"job{n}") for n in range(count))
    run_with_kills(count, kills)
    changes = recorded()
    assert most_at_once([change for _, _, change in changes]) == 3
    assert len({job for job, _, _ in changes}) == count
    # Nothing is left behind: who was killed has given its permits back by its jobs' rescue.
    assert not Job.objects.exclude(parked=None).exists()


@pytest.mark.parametrize(("count", "kills"), SIZES)
def test_never_more_than_the_cap_of_a_key(count: int, kills: int, record: None, desk) -> None:
    """Half of the jobs are of one key; a key has one place."""
    keys = ["hot" if n % 2 else f"key{n % 8}" for n in range(count)]
    enqueue_many(jobs.quick.using(concurrency_key=key).bind(desk.folder, f"job{n}") for n, key in enumerate(keys))
    run_with_kills(count, kills)
    changes = recorded()
    assert {key: most_at_once([c for _, k, c in changes if k == key]) for key in set(keys)} == dict.fromkeys(keys, 1)
    assert most_at_once([change for _, _, change in changes]) > 1
    assert Counter(job for job, _, change in changes if change > 0).total() >= count
