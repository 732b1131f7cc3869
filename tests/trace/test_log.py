"""The log has what was committed, all of it, and in the order of the commits."""

from __future__ import annotations

import os
from functools import partial

from conveyor_django.db import Connection
from conveyor_django.outcomes import Answer

from ..support.barriers import at_once
from ..support.factories import new_job
from ..support.races import A
from ..support.waits import backend_pid
from .check import check
from .log import BASE, LOCK, Step, install, read_log, uninstall
from .runs import Traced

BUSY = Answer.BUSY


def steps(traced: Traced) -> list[Step]:
    """Return the steps behind the first, which has what was there already."""
    base, *steps = read_log(traced.main)
    assert {change.op for change in base.changes} == {BASE}
    return steps


def states(traced: Traced) -> list[list[tuple[int, str]]]:
    """Return (job, state) of each change of a job, by step."""
    return [
        [(change.new["id"], change.new["state"]) for change in step.changes if change.new and "state" in change.new]
        for step in steps(traced)
    ]


def test_it_names_statement_session_and_values(traced: Traced) -> None:
    [run] = traced.enqueue_and_claim(A)
    enqueued, claimed = steps(traced)
    assert [change.statement for change in enqueued.changes + claimed.changes] == ["enqueue_jobs", "claim_jobs"]
    [change] = claimed.changes
    assert (change.table, change.op, change.application) == ("conveyor_job", "UPDATE", "conveyor test")
    assert change.pid == backend_pid(traced.main)
    assert change.old is not None
    assert change.new is not None
    assert (change.old["state"], change.new["state"], change.new["lease_owner"]) == ("ready", "running", str(A))
    assert run.version == change.new["lease_version"]


def test_steps_are_in_the_order_of_commits_whoever_wrote_first(traced: Traced) -> None:
    first, second = traced.enqueue(2)
    with traced.transaction() as slow:
        traced.jobs.cancel_job(first, on=slow)
        traced.jobs.cancel_job(second, on=traced.main)
    assert states(traced)[-2:] == [[(second, "cancelled")], [(first, "cancelled")]]


def test_what_is_rolled_back_is_not_there(traced: Traced) -> None:
    [job] = traced.enqueue()
    with traced.lost_transaction() as lost:
        traced.claim_one(A, on=lost)
    with traced.transaction() as half:
        traced.jobs.cancel_job(job, on=half)
        half.execute("SAVEPOINT here")
        traced.jobs.requeue_jobs([job], on=half)
        half.execute("ROLLBACK TO SAVEPOINT here")
    assert states(traced)[1:] == [[(job, "cancelled")]]


def test_an_open_transaction_keeps_nobody_from_committing(traced: Traced) -> None:
    first, second = traced.enqueue(2)
    other = traced.connect()
    with traced.transaction() as idle:
        traced.jobs.cancel_job(first, on=idle)
        cancelling = traced.sides.start(other, traced.jobs.cancel_job, second)
        assert not cancelling.settle()
        assert cancelling.result() == "cancelled"


def test_a_commit_waits_for_the_one_before_it(traced: Traced) -> None:
    """What has the lock is not yet visible to everybody: the next number may not be drawn."""
    [job] = traced.enqueue()
    other = traced.connect()
    with traced.transaction() as committing:
        committing.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        cancelling = traced.sides.start(other, traced.jobs.cancel_job, job)
        cancelling.wait_until_blocked()
        traced.jobs.enqueue_jobs([new_job()], on=committing)
    assert cancelling.result() == "cancelled"
    assert [len(step) for step in states(traced)] == [1, 1, 1]
    assert states(traced)[-1] == [(job, "cancelled")]


def test_a_session_without_triggers_is_logged(traced: Traced) -> None:
    [job] = traced.enqueue()
    traced.main.execute("SET session_replication_role = replica")
    traced.jobs.cancel_job(job, on=traced.main)
    assert states(traced)[-1] == [(job, "cancelled")]


def test_a_role_without_rights_on_the_log_may_write(traced: Traced) -> None:
    role = f"trace_worker_{os.getpid()}"
    [job] = traced.enqueue()
    with traced.lost_transaction() as session:
        session.execute(
            f"CREATE ROLE {role}; GRANT USAGE ON SCHEMA {traced.schema} TO {role};"
            f"GRANT ALL ON {traced.schema}.conveyor_job TO {role}; SET LOCAL ROLE {role}",
            prepare=False,
        )
        traced.jobs.cancel_job(job, on=session)
        session.execute("SET CONSTRAINTS ALL IMMEDIATE")


def test_many_at_once_leave_a_log_that_is_accepted(traced: Traced) -> None:
    """Each commit begins with what the ones before have left: the checker sees if an order is wrong."""
    traced.enqueue(40)
    sessions = [traced.connect() for _ in range(4)]

    def work(on: Connection) -> None:
        while runs := traced.claim(A, 3, on=on):
            traced.renew(A, *runs, on=on)
            # A row is busy for a moment where another claim has just looked at it again.
            while runs := [
                run for run, told in zip(runs, traced.succeed(A, *runs, on=on), strict=True) if told == BUSY
            ]:
                pass

    at_once(*[partial(work, session) for session in sessions])
    log = read_log(traced.main)
    assert sum(change.table == "conveyor_ledger" for step in log for change in step.changes) == 40
    assert check(log) is None


def test_it_begins_with_what_is_there_and_ends_without_a_trace(traced: Traced) -> None:
    traced.enqueue()
    before = read_log(traced.main)
    traced.main.execute("SET timezone = 'Asia/Kathmandu'")
    install(traced.main)
    [base] = read_log(traced.main)
    assert {change.op for change in base.changes} == {BASE}
    assert before[1].changes[0].new in [change.new for change in base.changes]
    traced.succeed(A, traced.claim_one(A))
    assert check(read_log(traced.main)) is None
    uninstall(traced.main)
    assert traced.main.execute("SELECT to_regclass('conveyor_trace')").fetchone() == (None,)
    traced.enqueue()
