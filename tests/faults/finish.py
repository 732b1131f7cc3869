"""What must be so at the end of every run, besides the judge's rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import psycopg

from conveyor_django.sql import statement

from ..support.waits import wait_until
from .stage import Stage

# Seconds until the last sessions have ended.
PATIENCE: Final = 20.0
# Stuck jobs that are told of at most.
SHOWN: Final = 10
SESSIONS: Final = "SELECT application_name FROM pg_stat_activity WHERE application_name LIKE 'conveyor %'"
# A permit is free when the run that it names is over.
TAKEN: Final = (
    "SELECT permit.id FROM conveyor_permit AS permit JOIN conveyor_job AS job"
    " ON job.id = permit.job_id AND job.lease_version = permit.lease_version WHERE job.state = 'running'"
)
# What is written in a fenced transaction is written once, since each run looks first.
TWICE_FENCED: Final = "SELECT job FROM test_effect WHERE step IS NULL GROUP BY job HAVING count(*) > 1"


def complaints(stage: Stage) -> list[str]:
    """Return what is not as it should be, now that every process has ended."""
    return [*_stuck(stage), *_sessions(stage), *_permits(stage), *_fenced(stage), *_logged(stage)]


def _stuck(stage: Stage) -> Iterator[str]:
    """Yield what `conveyor_stuck` would list."""
    with psycopg.connect(stage.server.url, autocommit=True) as connection:
        for job in connection.execute(statement("find_stuck"), {"limit": SHOWN}):
            yield f"a job is stuck: {job}"


def _sessions(stage: Stage) -> Iterator[str]:
    try:
        wait_until(lambda: not stage.server.rows(SESSIONS), "no session of Conveyor is left", patience=PATIENCE)
    except TimeoutError:
        yield f"sessions are left: {stage.server.rows(SESSIONS)}"


def _permits(stage: Stage) -> Iterator[str]:
    if taken := stage.server.rows(TAKEN):
        yield f"permits are taken: {taken}"


def _fenced(stage: Stage) -> Iterator[str]:
    if twice := stage.server.rows(TWICE_FENCED):
        yield f"written twice under a fence: jobs {twice}"


def _logged(stage: Stage) -> Iterator[str]:
    """Yield what a loop died of, and what nobody caught."""
    for event in stage.fleet.events("loop.failed"):
        yield f"a loop failed: {event}"
    for text in stage.fleet.tracebacks():
        yield f"on stderr: {text}"
