"""A PostgreSQL that is stopped, and one that is killed while it commits."""

from __future__ import annotations

import signal
from typing import Final

import psycopg

from ...support.waits import wait_until
from ..fleet import send
from ..stage import PATIENCE, Stage
from .base import Scenario, at_a_third

# One that is at work, if there is one.
OF_A_WORKER: Final = (
    "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'conveyor %'"
    " ORDER BY state = 'active' DESC, random() LIMIT 1"
)


def stop_and_start(stage: Stage) -> None:
    """Stop it in order, which rolls open transactions back; start it once the workers have noticed."""
    stage.busiest_child()
    seen = stage.fleet.count("database.unavailable")
    with stage.fault("PostgreSQL stopped"):
        stage.server.stop("fast")
        stage.wait(lambda: stage.fleet.count("database.unavailable") > seen, "a worker has noticed")
        stage.server.start()


def kill_postgresql(stage: Stage) -> None:
    """Kill the postmaster and every backend at once, under load: what had committed is recovered from the WAL."""
    stage.busiest_child()
    with stage.fault("PostgreSQL killed by SIGKILL"):
        stage.server.kill()
        stage.server.start()


def kill_backend(stage: Stage) -> None:
    """Kill one backend of a worker: the postmaster ends all others and recovers by itself."""
    stage.busiest_child()
    with psycopg.connect(stage.server.url, autocommit=True) as session:
        [(pid,)] = session.execute(OF_A_WORKER).fetchall()
        with stage.fault("one backend killed by SIGKILL"):
            send(signal.SIGKILL, [pid])
            wait_until(lambda: _is_cut(session), "PostgreSQL has ended every session", patience=PATIENCE)
            wait_until(lambda: _is_back(stage), "PostgreSQL takes connections again", patience=PATIENCE)


def _is_cut(session: psycopg.Connection) -> bool:
    try:
        session.execute("SELECT 1")
    except psycopg.OperationalError:
        return True
    return False


def _is_back(stage: Stage) -> bool:
    try:
        return stage.server.rows("SELECT 1") == [(1,)]
    except psycopg.OperationalError:
        return False


SCENARIOS = [
    Scenario(
        name="postgresql-stopped",
        what="PostgreSQL stopped (fast) under load, started again once the workers have noticed",
        strike=at_a_third(stop_and_start),
    ),
    Scenario(
        name="postgresql-killed",
        what="kill -9 of the postmaster and all backends while they commit, started again",
        strike=at_a_third(kill_postgresql),
    ),
    Scenario(
        name="backend-killed",
        what="kill -9 of one backend of a worker: PostgreSQL restarts them all",
        strike=at_a_third(kill_backend),
    ),
]
