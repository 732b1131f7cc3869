"""conveyor_doctor of what only commits make: dead rows, and indexes that failed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from django.db import connection

from conveyor_django.db import Connection
from conveyor_django.models import Job, Worker
from conveyor_django.operate.findings import Finding, Level, examine
from conveyor_django.testing import frozen_clock

from ..support.connections import Connect, plain_connection, scalar
from ..support.factories import JobFactory, in_seconds, new_job
from ..support.waits import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def found(code: str) -> list[Finding]:
    return [finding for finding in examine("default") if finding.code == code]


@pytest.fixture
def failed_index(connect: Connect) -> Iterator[None]:
    """What a failed CREATE INDEX CONCURRENTLY leaves behind."""
    JobFactory(), JobFactory()
    session = connect()
    with pytest.raises(psycopg.errors.UniqueViolation):
        session.execute("CREATE UNIQUE INDEX CONCURRENTLY conveyor_job_test ON conveyor_job (queue)")
    yield
    session.execute("DROP INDEX IF EXISTS conveyor_job_test")


def test_an_index_is_invalid(failed_index: None) -> None:
    [finding] = found("invalid_index")
    assert finding.level is Level.PROBLEM
    assert finding.problem.startswith("the index conveyor_job_test of conveyor_job is invalid")
    Job.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute(finding.remedy.split("; ")[0])
    assert found("invalid_index") == []


def test_vacuum_is_behind(fleet: Worker, connect: Connect, watcher: Connection) -> None:
    Job.objects.enqueue_jobs([new_job() for _ in range(3000)])
    holder = connect()
    # Keeps autovacuum from being faster than the test.
    holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    holder.execute("SELECT count(*) FROM conveyor_job")
    with closing(plain_connection()) as session:
        session.execute("ANALYZE conveyor_job")
        for _ in range(2):
            session.execute("UPDATE conveyor_job SET priority = priority + 1")
    # A session tells of what it has done when it ends.
    wait_until(
        lambda: scalar(watcher, "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'conveyor_job'") >= 6000,
        "the dead rows are counted",
    )
    with frozen_clock(in_seconds(3600)):
        [finding] = [finding for finding in found("dead_rows") if finding.problem.startswith("conveyor_job ")]
    assert finding.level is Level.WARNING
    assert "VACUUM (ANALYZE) conveyor_job;" in finding.remedy
