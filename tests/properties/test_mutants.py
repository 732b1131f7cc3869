"""The machine finds what is broken: one guard or one figure of a statement at a time, and an example fails."""

from __future__ import annotations

from typing import Any, Final

import psycopg
import pytest
from hypothesis import Phase, seed, settings
from hypothesis.stateful import get_state_machine_test

from conveyor_django.managers import base
from conveyor_django.sql import statement

from ..support.connections import Connect
from .ground import Ground
from .machine import JobMachine
from .runs import RunMachine

# What is rare among the examples of one seed is there among those of another: each machine tries up to 12 seeds.
ROUNDS: Final = 12
EXAMPLES: Final = 100
# Each: a statement, a part of it, and what stands there instead.
MUTANTS: Final = [
    ("succeed_jobs", " AND job.lease_version = given.version\n        FOR", "\n        FOR"),
    ("succeed_jobs", "job.lease_owner = %(owner)s::uuid AND job.lease_version = given.version\n        FOR",
     "job.lease_version = given.version\n        FOR"),
    ("succeed_jobs", "      AND ledger.owner = %(owner)s::uuid\n", ""),
    ("end_attempts", " AND job.lease_version = given.version\n        FOR", "\n        FOR"),
    ("end_attempts", " AND attempt.verb = given.verb", ""),
    ("end_attempts", "held.cancelling OR ", ""),
    ("end_attempts", "fate.verb IN ('snooze', 'release')", "fate.verb IN ('snooze')"),
    ("renew_leases", " AND job.lease_version = given.version\n        FOR", "\n        FOR"),
    ("record_step", " AND job.lease_version = given.version\n        FOR", "\n        FOR"),
    ("hold_fence", " AND job.lease_version = %(version)s::bigint", ""),
    ("rescue_jobs", "job.lease_expires_at < (", "job.lease_expires_at <= ("),
    ("rescue_jobs", "attempt = job.attempt - 1", "attempt = job.attempt"),
    ("rescue_owner", " AND started.version = job.lease_version", ""),
    ("rescue_owner", "attempt = job.attempt - 1", "attempt = job.attempt"),
    ("release_unknown", "(job.id, job.lease_version) NOT IN", "(job.id, job.lease_version - 1) NOT IN"),
    ("release_unknown", "WHEN held.release_count >=", "WHEN held.release_count >"),
    ("requeue_jobs", "cancel_requested_at = NULL, ", ""),
    ("claim_plain_jobs", "lease_version = job.lease_version + 1", "lease_version = job.attempt + 1"),
    ("claim_plain_jobs", "picked.concurrency_key IS NOT NULL\n               OR ", ""),
    ("claim_jobs", "FROM seen\n            WHERE NOT paused", "FROM seen"),
    ("end_attempts", "held.release_count >= %(max_releases)s", "held.release_count > %(max_releases)s"),
    ("end_attempts", "held.attempt + held.lost_count", "held.attempt"),
    ("end_attempts", "held.lease_version - %(keep)s", "held.lease_version - 1 - %(keep)s"),
    ("record_step", "\n           OR EXISTS (SELECT FROM held WHERE held.id = given.id)", ""),
    ("rescue_jobs", "held.lost_count + 1 >=", "held.lost_count >="),
    ("cancel_job", "WHEN state = 'running' THEN 'running'", "WHEN state = 'blocked' THEN 'blocked'"),
    ("requeue_jobs", "lost_count = 0, ", ""),
    ("promote_jobs", "ORDER BY job.run_at\n", "ORDER BY job.run_at DESC\n"),
    ("promote_jobs", "job.run_at <= (", "job.run_at < ("),
    ("claim_plain_jobs", "candidate.priority DESC, ", ""),
    ("claim_plain_jobs", "WHEN turn.paused THEN 0 ", ""),
    ("claim_plain_jobs", "turn.capped OR picked", "picked"),
    ("claim_jobs", " AND known.nth <= demand.cap - known.held", ""),
    ("unpark_jobs", "permits.free - line.jobs AS", "permits.free - line.jobs - 1 AS"),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "part", "instead"), MUTANTS)
def test_a_machine_finds_it(
    name: str, part: str, instead: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = statement(name)
    assert text.count(part) == 1, f"{name}.sql no longer has, once:\n{part}"
    broken = text.replace(part, instead)
    monkeypatch.setattr(base, "statement", lambda asked: broken if asked == name else statement(asked))
    assert any(finds(machine, number, connect) for number in range(ROUNDS) for machine in (RunMachine, JobMachine))


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_the_same_examples_find_nothing_in_whole_statements(connect: Connect) -> None:
    assert not any(finds(machine, number, connect) for number in range(ROUNDS) for machine in (RunMachine, JobMachine))


def finds(machine: type[Ground], number: int, connect: Connect) -> bool:
    """Say whether a machine comes upon a difference, or upon something that the server refuses."""

    class Machine(machine):  # type: ignore[misc, valid-type]
        connection = connect()

    # What is found need not be made small, nor told.
    quick: Any = settings(phases=[Phase.generate], max_examples=EXAMPLES, report_multiple_bugs=False)
    try:
        seed(number)(get_state_machine_test(Machine, settings=quick))()
    except (AssertionError, psycopg.IntegrityError, psycopg.errors.CardinalityViolation):
        return True
    return False
