"""Connections cut one by one, a server that stops and starts: every job still ends, once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection

from conveyor_django.models import Ledger
from tests.support import jobs
from tests.support.listening import somebody_listens
from tests.support.processes import PATIENCE, Desk, running
from tests.support.server import Server, own_server
from tests.support.waits import wait_until

OUTAGE_PATIENCE = 60.0


def terminate(pattern: str) -> int:
    """End the sessions whose application_name is like `pattern`; return how many there were."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE application_name LIKE %s AND application_name NOT LIKE 'conveyor test%%'"
            " AND datname = current_database() AND pid <> pg_backend_pid()",
            (pattern,),
        )
        return cursor.fetchone()[0]


@pytest.mark.parametrize(
    "pattern",
    ["conveyor % pump", "conveyor % heartbeat", "conveyor % listener", "conveyor % executor", "conveyor scheduler %",
     "conveyor supervisor %", "conveyor %"],
)  # fmt: skip
def test_each_connection_of_a_worker_may_be_cut(pattern, desk, effects, all_end):
    names = [f"job{i:02}" for i in range(20)]
    for name in names:
        jobs.late_effect.enqueue(desk.folder, name)
    with running("conveyor_worker", "--concurrency", "4", lease=5.0) as worker:
        desk.wait_started(4)
        if "executor" not in pattern:
            wait_until(lambda: terminate(pattern) > 0, "a session was there to be cut")
        desk.go()
        if "executor" in pattern:
            wait_until(lambda: terminate(pattern) > 0 or not _left(), "executors' sessions were cut")
        ended = all_end(patience=OUTAGE_PATIENCE)
        if "listener" in pattern:
            # It listens again: a job comes before the poll would find it.
            wait_until(somebody_listens, "the listener is back")
        assert worker.returncode is None
        assert not worker.log("loop.failed")
    assert {j.state for j in ended} == {"succeeded"}
    assert effects() == names
    assert Ledger.objects.count() == len(names)


def test_a_connection_that_was_cut_while_it_rested_costs_no_attempt(desk, effects, all_end):
    """Each executor thread has an open connection; all are cut between two jobs of one attempt each."""
    jobs.effect.enqueue("before")
    with running("conveyor_worker", "--concurrency", "1"):
        all_end()
        wait_until(lambda: terminate("conveyor % executor") > 0, "the executor's session was cut")
        jobs.effect.using(max_attempts=1).enqueue("after")
        ended = all_end()
    assert [j.state for j in ended] == ["succeeded"] * 2
    assert effects() == ["after", "before"]


def _left() -> bool:
    from conveyor_django.models import Job

    return Job.objects.exclude(state="succeeded").exists()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with own_server() as started:
        yield started


@pytest.fixture
def fresh(server: Server) -> Server:
    server.execute("TRUNCATE conveyor_job, conveyor_payload, conveyor_ledger, conveyor_attempt, test_effect")
    return server


def assert_all_once(server: Server, names: list[str]) -> None:
    wait_until(
        lambda: server.rows("SELECT count(*) FROM conveyor_job WHERE state <> 'succeeded'") == [(0,)],
        "every job has succeeded",
        patience=OUTAGE_PATIENCE,
    )
    assert [row[0] for row in server.rows("SELECT name FROM test_effect ORDER BY name")] == sorted(names)
    assert server.rows("SELECT count(*) FROM conveyor_ledger") == [(len(names),)]


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_postgresql_stops_and_starts_under_a_worker(mode: str, fresh: Server, desk: Desk) -> None:
    names = [f"job{i:02}" for i in range(24)]
    fresh.enqueue("late_effect", *((desk.folder, name) for name in names))
    with running("conveyor_worker", "--processes", "2", "--concurrency", "4", lease=5.0, **fresh.environment) as worker:
        desk.wait_started(8)
        fresh.stop(mode)
        worker.wait_for("database.unavailable", loop="pump")
        worker.wait_for("database.unavailable", loop="heartbeat")
        desk.go()
        fresh.start()
        assert_all_once(fresh, names)
        assert not worker.log("loop.failed")


def test_a_worker_waits_for_a_database_that_is_not_there_yet(fresh: Server, desk: Desk) -> None:
    fresh.enqueue("quick", (desk.folder, "x"))
    fresh.stop()
    with running("conveyor_worker", **fresh.environment) as worker:
        worker.wait_for("database.unavailable", loop="heartbeat")
        fresh.start()
        desk.wait_started(1)


def test_a_worker_on_a_database_without_tables_says_migrate(fresh: Server) -> None:
    fresh.execute("DROP DATABASE IF EXISTS empty")
    fresh.execute("CREATE DATABASE empty")
    url = fresh.url.replace("/postgres?", "/empty?")
    with running("conveyor_worker", DATABASE_URL=url) as worker:
        assert worker.wait(PATIENCE) == 1
        assert any("migrate --database default" in line for line in worker.other)
