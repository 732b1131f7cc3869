"""The checker on wrong logs: each mutation of a real log is refused, at its step and for its reason."""

from __future__ import annotations

import pytest

from conveyor_django.db import Connection

from ..support.barriers import threads
from ..support.connections import opened_connections
from .check import check
from .conftest import begin_trace
from .log import Step, read_log
from .mutations import MUTATIONS, Mutation
from .runs import RUNS


@pytest.fixture(scope="module")
def logs(traced_schema: str, watcher: Connection) -> dict[str, list[Step]]:
    """The log of each run; altering one makes another."""
    logs = {}
    with threads(watcher) as sides, opened_connections() as connect:
        for name, run in RUNS.items():
            traced = begin_trace(traced_schema, connect, sides)
            run(traced)
            logs[name] = read_log(traced.main)
    return logs


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_it_is_refused(mutation: Mutation, logs: dict[str, list[Step]]) -> None:
    log = logs[mutation.run]
    assert check(log) is None
    wrong, index = mutation.alter(log)
    refusal = check(wrong)
    assert refusal is not None
    assert (refusal.guard, refusal.number) == (mutation.guard, wrong[index].number)


def test_a_refusal_names_commit_statement_job_and_values(logs: dict[str, list[Step]]) -> None:
    [mutation] = [mutation for mutation in MUTATIONS if mutation.what == "a claim that charges nothing"]
    wrong, index = mutation.alter(logs[mutation.run])
    refusal = check(wrong)
    assert refusal is not None
    told = str(refusal)
    assert told.startswith(
        f"commit {wrong[index].number} (transaction {wrong[index].xid}): job {refusal.job}: a claim "
    )
    assert "claim_jobs of session 'conveyor test' wrote conveyor_job: " in told
    assert "state: ready > running" in told
