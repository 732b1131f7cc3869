"""Limits of the server that are met: its connections, the time of a statement, the time of an idle transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import psycopg

from ...support.processes import Process
from ..stage import Stage
from .base import Scenario

# Limits do not hold for superusers.
ROLE: Final = "app"
# Connections that others hold.
HOGS: Final = 3
# Milliseconds.
STATEMENT_TIMEOUT: Final = 300
IDLE_TIMEOUT: Final = 100
# How often a lock keeps every statement waiting for longer than it may take.
LOCKS: Final = 3

# What a project's own transactions may take is not what is tried here.
PATIENT: Final[dict[str, str]] = {"PGOPTIONS": "-c idle_in_transaction_session_timeout=0"}

GRANTS: Final = f"""
CREATE ROLE {ROLE} LOGIN;
GRANT ALL ON SCHEMA public TO {ROLE};
GRANT ALL ON ALL TABLES IN SCHEMA public TO {ROLE};
GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {ROLE};
"""


@contextmanager
def as_role(stage: Stage) -> Iterator[None]:
    """Let every process connect as a role of its own, which the limits are set for."""
    stage.server.execute(GRANTS)
    stage.environment["DATABASE_URL"] = stage.server.url.replace("postgres@", f"{ROLE}@")
    yield


@contextmanager
def with_timeouts(stage: Stage) -> Iterator[None]:
    """Let statements and idle transactions of that role end soon."""
    with as_role(stage):
        stage.server.execute(f"ALTER ROLE {ROLE} SET statement_timeout = {STATEMENT_TIMEOUT}")
        stage.server.execute(f"ALTER ROLE {ROLE} SET idle_in_transaction_session_timeout = {IDLE_TIMEOUT}")
        yield


def hog_connections(stage: Stage) -> None:
    """Leave the role no more connections than others hold already, end all of the others, and let the hogs go."""
    stage.wait_begun(0.2, 0.4)
    worker = stage.fleet.workers[0]
    with stage.fault("no connection is left"), ExitStack() as hogs:
        for _ in range(HOGS):
            hogs.enter_context(psycopg.connect(stage.environment["DATABASE_URL"], application_name="hog"))
        stage.server.execute(f"ALTER ROLE {ROLE} CONNECTION LIMIT {HOGS}")
        stage.server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE usename = '{ROLE}' AND application_name <> 'hog'"
        )
        # Twice: the first may be the connection that was ended, the second is one that was refused.
        for loop in ("pump", "heartbeat"):
            worker.wait_for("database.unavailable", loop=loop, count=2 * len(stage.fleet.children()))
        refused = [e["error"] for e in worker.log("database.unavailable") if "too many connections" in e["error"]]
        assert refused, "no connection was refused"
        stage.server.execute(f"ALTER ROLE {ROLE} CONNECTION LIMIT -1")


def exceed_timeouts(stage: Stage) -> None:
    """Lock the table of jobs, again and again, until a claim has taken longer than a statement may."""
    stage.wait_begun(0.1, 0.3)
    worker = stage.fleet.workers[0]
    with stage.fault("statements wait for longer than statement_timeout"):
        for _ in range(LOCKS):
            _lock_until_one_more_times_out(stage, worker)


def _lock_until_one_more_times_out(stage: Stage, worker: Process) -> None:
    before = len(_timed_out(worker))
    with psycopg.connect(stage.server.url) as connection:
        connection.execute("LOCK TABLE conveyor_job IN ACCESS EXCLUSIVE MODE")
        stage.wait(lambda: len(_timed_out(worker)) > before, "a statement has taken too long")
        connection.rollback()
    begun = stage.watch.begins
    stage.wait(lambda: stage.watch.begins > begun, "another run has begun")


def _timed_out(worker: Process) -> list[str]:
    return [e["error"] for e in worker.log("database.unavailable") if "statement timeout" in e["error"]]


SCENARIOS = [
    Scenario(
        name="connection-limit", what="all sessions are ended, and the limit of connections keeps others out",
        strike=hog_connections, around=as_role,
    ),
    Scenario(
        name="timeouts", what="statement_timeout and idle_in_transaction_session_timeout of a few hundred milliseconds",
        strike=exceed_timeouts, around=with_timeouts, producer=PATIENT,
    ),
]  # fmt: skip
