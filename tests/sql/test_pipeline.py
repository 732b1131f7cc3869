"""Statements in one round trip: one transaction, the server's own errors, and no wait without end."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import psycopg
import pytest

from conveyor_django.db import Connection, DedicatedConnection, Unanswered
from conveyor_django.models import Job
from conveyor_django.pipeline import Hint, Pipeline
from conveyor_django.sql import names, numbered, statement

from ..support.connections import Connect
from ..support.factories import ready_jobs
from ..support.samples import OWNER, SAMPLES

pytestmark = pytest.mark.django_db(transaction=True)

ECHO = {
    "integers": [1, None, -(2**62)], "texts": ["", "a,b", '"', "\\", "{}", "NULL", None, " ä\n\t'", "%s $1"],
    "floats": [30.0, 1e-9, 1e300], "empty": [], "jsons": ['{"a": ["\\"", "\\\\", "ü"]}', None, "null"],
    "uuid": OWNER, "now": dt.datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=dt.UTC), "none": None, "text": "it's \\ \"so\"",
}  # fmt: skip
ECHO_SQL = (
    "SELECT %(integers)s::bigint[], %(texts)s::text[], %(floats)s::float8[], %(empty)s::bigint[], %(jsons)s::jsonb[],"
    " %(uuid)s::uuid, %(now)s::timestamptz, %(none)s::text, %(text)s::text, 1 %% 2, %(text)s::text"
)


def claim(limit: int = 10) -> tuple[str, dict[str, Any]]:
    return "claim_plain_jobs", SAMPLES["claim_plain_jobs"] | {"queues": ["default"], "leases": [30.0], "limit": limit}


@pytest.mark.parametrize("name", names())
def test_every_statement_runs_and_answers_as_with_the_driver_s_own_cursor(name: str, connect: Connect) -> None:
    connection = connect()
    with connection.transaction(force_rollback=True):
        run = Pipeline(connection).run([(name, SAMPLES[name])])[0]
    with connection.transaction(force_rollback=True):
        rows = connection.execute(statement(name), SAMPLES[name]).fetchall()
    assert [list(map(type, row)) for row in run] == [list(map(type, row)) for row in rows]


@pytest.mark.usefixtures("own_statements")
def test_parameters_and_rows_are_the_same_as_with_the_driver_s_own_cursor(connect: Connect) -> None:
    connection = connect()
    rows = Pipeline(connection).run([(ECHO_SQL, ECHO)])[0]
    assert rows == connection.execute(ECHO_SQL, ECHO).fetchall()
    assert rows[0][1] == ECHO["texts"]
    assert numbered(ECHO_SQL).parameters == list(ECHO)


def test_a_statement_is_prepared_once_for_each_connection(connect: Connect) -> None:
    ready_jobs(3)
    connection = connect()
    taken = [row[1] for _ in range(3) for row in Pipeline(connection).run([claim(1), claim(1)])[0]]
    assert len(set(taken)) == len(taken) == 2
    prepared = "SELECT name FROM pg_prepared_statements WHERE name LIKE 'claim%%'"
    assert connection.execute(prepared, prepare=False).fetchall() == [("claim_plain_jobs",)]
    other = connect()
    assert Pipeline(other).run([claim(1)]) == [[]]


@pytest.mark.usefixtures("own_statements")
def test_a_hint_runs_behind_the_others_in_a_transaction_of_its_own(connect: Connect) -> None:
    connection = connect()
    hint = Hint(("SELECT set_config('conveyor.of_hint', pg_current_xact_id()::text, false)", {}))
    [[(first,)]] = Pipeline(connection).run_prepared([("SELECT pg_current_xact_id()::text", {})], hint)
    assert (hint.sent, hint.error) == (True, None)
    assert int(connection.execute("SELECT current_setting('conveyor.of_hint')").fetchone()[0]) > int(first)


@pytest.mark.usefixtures("own_statements")
def test_a_hint_that_fails_costs_the_others_nothing(connect: Connect) -> None:
    connection = connect()
    used = Pipeline(connection)
    hint = Hint(("SELECT 1 / %(by)s::integer", {"by": 0}))
    assert used.run_prepared([("SELECT 1", {})], hint) == [[(1,)]]
    assert hint.sent
    assert isinstance(hint.error, psycopg.errors.DivisionByZero)
    assert used.run_prepared([("SELECT 2", {})]) == [[(2,)]]


@pytest.mark.usefixtures("own_statements")
def test_a_connection_that_is_lost_at_the_hint_has_answered_before(connect: Connect) -> None:
    hint = Hint(("SELECT pg_terminate_backend(pg_backend_pid())", {}))
    assert Pipeline(connect()).run_prepared([("SELECT 1", {})], hint) == [[(1,)]]
    assert isinstance(hint.error, psycopg.OperationalError)


@pytest.mark.usefixtures("own_statements")
def test_what_fails_before_a_hint_is_raised(connect: Connect) -> None:
    connection = connect()
    used = Pipeline(connection)
    with pytest.raises(psycopg.errors.DivisionByZero):
        used.run_prepared([("SELECT 1 / %(by)s::integer", {"by": 0})], Hint(("SELECT 1", {})))
    assert used.run_prepared([("SELECT 2", {})]) == [[(2,)]]


def test_statements_that_were_discarded_are_prepared_anew(connect: Connect) -> None:
    ready_jobs(3)
    connection = connect()
    used = Pipeline(connection)
    used.run([claim(1), ("list_leases", {})])
    with connection.transaction(force_rollback=True):
        connection.execute("SELECT 1")
    assert connection.execute("SELECT count(*) FROM pg_prepared_statements", prepare=False).fetchone() == (0,)
    first, second = used.run([claim(1), claim(1)])
    assert len(first) == len(second) == 1
    assert Job.objects.filter(state="running").count() == 3


def test_what_fails_undoes_the_rest_and_the_connection_goes_on(connect: Connect) -> None:
    ready_jobs(1)
    connection = connect()
    used = Pipeline(connection)
    bad = ("claim_plain_jobs", claim()[1] | {"leases": ["much"]})
    for requests in ([claim(), bad], [bad, claim()]):
        with pytest.raises(psycopg.errors.InvalidTextRepresentation, match="much"):
            used.run(requests)
        assert Job.objects.get().state == "ready"
    assert len(used.run([claim(), claim()])[0]) == 1
    assert Job.objects.get().state == "running"


def test_text_that_postgresql_cannot_hold_is_refused_before_anything_is_sent(connect: Connect) -> None:
    ready_jobs(1)
    used = Pipeline(connect())
    with pytest.raises(psycopg.DataError, match="NUL"):
        used.run([claim(), ("claim_plain_jobs", claim()[1] | {"queues": ["a\0b"]})])
    assert len(used.run([claim()])[0]) == 1


@pytest.mark.usefixtures("own_statements")
def test_much_goes_both_ways_at_once(connect: Connect) -> None:
    """More than any buffer holds, so that each side has to read before the other can write on."""
    texts = [f"SELECT repeat('x', 3000000), {number} /* {'y' * 3_000_000} */" for number in range(3)]
    rows = Pipeline(connect()).run([(text, {}) for text in texts])
    assert [[(len(text), number) for text, number in part] for part in rows] == [[(3_000_000, n)] for n in range(3)]


@pytest.mark.usefixtures("own_statements")
def test_a_session_that_is_ended_is_an_operational_error_on_a_closed_connection(connect: Connect) -> None:
    connection = connect()
    with pytest.raises(psycopg.OperationalError):
        Pipeline(connection).run([("SELECT 1", {}), ("SELECT pg_terminate_backend(pg_backend_pid())", {})])
    assert connection.closed


def test_a_connection_that_broke_before_is_an_operational_error(connect: Connect, watcher: Connection) -> None:
    connection = connect()
    used = Pipeline(connection)
    used.run([claim(), claim()])
    watcher.execute("SELECT pg_terminate_backend(%s, 10000)", (connection.info.backend_pid,))
    with pytest.raises(psycopg.OperationalError):
        used.run([claim(), claim()])
    assert connection.closed


def test_no_answer_is_not_waited_for_without_end(connect: Connect) -> None:
    connection, other = connect(), connect()
    assert isinstance(connection, DedicatedConnection)
    connection.patience = 0.05
    with other.transaction():
        other.execute("LOCK TABLE conveyor_job")
        with pytest.raises(Unanswered, match=r"0\.05 s"):
            Pipeline(connection).run([claim(), claim()])
    assert connection.closed


def test_behind_a_pooler_nothing_is_prepared(connect: Connect) -> None:
    ready_jobs(2)
    connection = connect()
    connection.prepare_threshold = None
    first, second = Pipeline(connection).run([claim(1), claim(1)])
    assert len({first[0][1], second[0][1]}) == 2
    mine = "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'claim%%'"
    assert connection.execute(mine).fetchone() == (0,)
    assert uuid.UUID(str(OWNER)) == Job.objects.first().lease_owner
