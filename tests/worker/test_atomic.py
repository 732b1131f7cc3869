"""Atomic runs against a heartbeat that looks in between."""

from __future__ import annotations

import threading
import uuid

import pytest
from django.db import DatabaseError, connection, connections, transaction

from conveyor_django.effects import Fence
from conveyor_django.errors import ForeignWrite, LeaseLost, LeftOpen, TransactionGone, UnstorableResult
from conveyor_django.models import Job, Ledger
from conveyor_django.transactions import writes_refused_elsewhere
from conveyor_django.worker.atomic import NotBegun, run_atomically
from conveyor_django.worker.inflight import InFlight
from tests.support.connections import scalar
from tests.support.factories import ready_jobs

pytestmark = pytest.mark.django_db(transaction=True)

LEASE = 30.0
# The first release that bounds a whole transaction.
HAS_TRANSACTION_TIMEOUT = 170_000


@pytest.fixture
def owner() -> uuid.UUID:
    return uuid.uuid4()


@pytest.fixture
def held(owner):
    ready_jobs(1)
    [claimed] = Job.objects.claim_jobs(owner=owner, queues={"default": LEASE}, limit=1)
    [held] = InFlight().add([claimed], sent_at=float("inf"))
    return held


@pytest.fixture
def fence(held, owner):
    return Fence(held, owner=owner, alias="default", atomic=True)


def rescue(owner) -> None:
    def work():
        Job.objects.rescue_owner(owner=owner, max_lost=3, max_releases=9, reason="a test says so")
        connections["default"].close()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_the_writes_the_ledger_row_and_the_transition_are_one_commit(held, fence, owner):
    seen = []

    def handler():
        Job.objects.filter(pk=held.claimed.id).update(priority=7)
        transaction.on_commit(lambda: seen.append(Ledger.objects.count()))
        return "result"

    outcome, value = run_atomically(fence, handler)
    assert (value, outcome.result) == ("result", '"result"')
    job = Job.objects.get()
    assert (job.state, job.priority) == ("succeeded", 7)
    assert seen == [1]


def test_it_is_over_before_its_commit_so_that_no_heartbeat_takes_its_end_for_a_loss(held, fence, owner):
    at_commit = []

    def handler():
        # The framework's own hook was registered first; this one runs right after the commit.
        transaction.on_commit(lambda: at_commit.append(held.over))

    run_atomically(fence, handler)
    assert at_commit == [True]


def test_a_lease_lost_while_it_ran_rolls_everything_back(held, fence, owner):
    def handler():
        rescue(owner)
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE test_atomic_effect (x int)")

    with pytest.raises(LeaseLost):
        run_atomically(fence, handler)
    assert "test_atomic_effect" not in connection.introspection.table_names()
    assert Job.objects.get().state == "ready"
    assert not Ledger.objects.exists()


def test_a_result_that_cannot_be_stored_rolls_back(held, fence, owner):
    def handler():
        Job.objects.filter(pk=held.claimed.id).update(priority=7)
        return object()

    with pytest.raises(UnstorableResult):
        run_atomically(fence, handler)
    assert Job.objects.get().priority == 0


def test_a_hook_that_raises_after_the_commit_is_logged_and_no_outcome(held, fence, owner, caplog):
    def handler():
        transaction.on_commit(lambda: 1 / 0)

    outcome, _ = run_atomically(fence, handler)
    assert outcome.token == held.token
    assert Job.objects.get().state == "succeeded"
    assert "job.hook_failed" in caplog.text


@pytest.mark.parametrize("level", ["SERIALIZABLE", "REPEATABLE READ"])
def test_it_runs_at_read_committed_whatever_the_default(held, fence, owner, level):
    seen = []

    def handler():
        with connection.cursor() as cursor:
            cursor.execute("SHOW transaction_isolation")
            seen.append(cursor.fetchone()[0])

    with connection.cursor() as cursor:
        cursor.execute(f"SET default_transaction_isolation = '{level.lower()}'")
    try:
        run_atomically(fence, handler)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET default_transaction_isolation")
    assert seen == ["read committed"]


def bounds() -> tuple[str, str | None]:
    """Return the statement's and, from PostgreSQL 17 on, the transaction's bound in force."""
    statement = scalar(connection, "SHOW statement_timeout")
    has_other = connection.pg_version >= HAS_TRANSACTION_TIMEOUT
    return (statement, scalar(connection, "SHOW transaction_timeout") if has_other else None)


@pytest.mark.parametrize(
    ("before", "timeout", "seen"),
    [("0", 60, "65s"), ("10s", 60, "10s"), ("2min", 60, "65s"), ("0", None, "0")],
)
def test_the_database_bounds_it_a_little_above_its_timeout(held, fence, before, timeout, seen):
    inside = []
    with connection.cursor() as cursor:
        cursor.execute(f"SET statement_timeout = '{before}'")
    try:
        run_atomically(fence, lambda: inside.append(bounds()), timeout=timeout)
        assert bounds()[0] == before
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET statement_timeout")
    [(statement, whole)] = inside
    assert statement == seen
    assert whole in {None, "0" if timeout is None else "65s"}


def test_a_statement_beyond_the_bound_is_cut_off(held, fence):
    with pytest.raises(DatabaseError, match="timeout"), fence.success(timeout=0.05):
        scalar(connection, "SELECT pg_sleep(60)")
    connection.close()
    assert Job.objects.get().state == "running"


def test_a_database_that_does_not_let_it_begin_is_no_failure_of_the_handler(held, fence, owner, watcher):
    connection.ensure_connection()
    watcher.execute("SELECT pg_terminate_backend(%s)", (connection.connection.info.backend_pid,))
    called = []
    try:
        with pytest.raises(NotBegun):
            run_atomically(fence, lambda: called.append(1))
    finally:
        connection.close()
    assert called == []


def test_a_block_left_open_is_an_error_and_nothing_commits(held, fence, owner):
    def handler():
        Job.objects.filter(pk=held.claimed.id).update(priority=7)
        transaction.atomic().__enter__()

    try:
        with pytest.raises(LeftOpen):
            run_atomically(fence, handler)
    finally:
        connection.in_atomic_block = False
        connection.savepoint_ids.clear()
        connection.close()
    assert not held.over
    assert Job.objects.get().priority == 0


@pytest.mark.parametrize(
    "sql", ["COMMIT", " commit and chain", "END", "ABORT", "ROLLBACK", "rollback work", "PREPARE TRANSACTION 'x'"]
)
def test_what_would_end_the_transaction_is_refused(held, fence, sql):
    def handler():
        Job.objects.filter(pk=held.claimed.id).update(priority=7)
        with connection.cursor() as cursor:
            cursor.execute(sql)

    with pytest.raises(TransactionGone, match="about to execute"):
        run_atomically(fence, handler)
    assert (Job.objects.get().priority, Job.objects.get().state) == (0, "running")


def test_what_goes_back_to_a_savepoint_is_not(held, fence):
    def handler():
        for back in ("ROLLBACK TO a", "ROLLBACK WORK TO SAVEPOINT a", "rollback transaction to a"):
            for sql in ("SAVEPOINT a", back):
                with connection.cursor() as cursor:
                    cursor.execute(sql)

    run_atomically(fence, handler)
    assert Job.objects.get().state == "succeeded"


def close():
    connection.close()


def reconnect():
    connection.close()
    connection.connect()


def begin_anew():
    reconnect()
    connection.set_autocommit(False)
    assert scalar(connection, "SELECT 1") == 1


def roll_back_by_the_driver():
    connection.connection.rollback()


@pytest.mark.parametrize("end", [close, reconnect, begin_anew, roll_back_by_the_driver])
def test_what_has_ended_it_all_the_same_is_no_success(held, fence, end):
    def handler():
        Job.objects.filter(pk=held.claimed.id).update(priority=7)
        end()

    try:
        with pytest.raises(TransactionGone):
            run_atomically(fence, handler)
    finally:
        connection.close()
    assert (Job.objects.get().priority, Job.objects.get().state) == (0, "running")


def test_writes_to_another_database_are_refused_reads_are_not(held):
    """As seen from a job on a database that is not this one."""
    with writes_refused_elsewhere("elsewhere", "shop.pay"):
        assert Job.objects.count() == 1
        with pytest.raises(ForeignWrite, match="write to 'default' was refused"):
            Job.objects.update(priority=7)
    assert Job.objects.get().priority == 0
