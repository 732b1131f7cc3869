"""Which statements a group must not meet."""

from __future__ import annotations

import pytest
from psycopg import sql as composed

from conveyor_django.sql import statement
from conveyor_django.worker.traces import leaves_traces


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "  select * from shop_order where id = %s for update skip locked;",
        "INSERT INTO shop_order (id) VALUES (%s)",
        "(SELECT 1) UNION (SELECT 2)",
        "-- why\n/* and\nmore */ UPDATE shop_order SET paid = true",
        "WITH gone AS (DELETE FROM a RETURNING *) INSERT INTO b SELECT * FROM gone",
        'SAVEPOINT "s1_x2"',
        'RELEASE SAVEPOINT "s1_x2"',
        'ROLLBACK TO SAVEPOINT "s1_x2"',
        statement("enqueue_job"),
        statement("enqueue_jobs"),
        statement("hold_fence"),
    ],
)
def test_what_only_reads_and_writes_rows(sql: str) -> None:
    assert not leaves_traces(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SET LOCAL search_path = elsewhere",
        "set constraints all immediate",
        "RESET ALL",
        "SELECT set_config('search_path', 'elsewhere', true)",
        "SELECT pg_advisory_xact_lock(1)",
        "SELECT pg_try_advisory_xact_lock(1)",
        "SELECT pg_notify('a', 'b')",
        "NOTIFY a",
        "LISTEN a",
        "LOCK TABLE shop_order",
        "TRUNCATE shop_order",
        "CREATE TEMP TABLE a (x int)",
        "SELECT 1 AS x INTO TEMP a",
        "DECLARE a CURSOR FOR SELECT 1",
        "PREPARE a AS SELECT 1",
        "DO $$ BEGIN END $$",
        "CALL anything()",
        "SELECT 1; SET search_path = elsewhere",
        "SELECT txid_current()",
        "UPDATE pg_settings SET setting = 'elsewhere' WHERE name = 'search_path'",
        "/* /* */ SELECT */ SET search_path = elsewhere",
        "RELEASE SAVEPOINT conveyor_run",
        "SELECT pg_current_xact_id()",
        "COMMIT",
        "END",
        "ROLLBACK",
        "-- nothing",
        "",
        composed.SQL("SELECT 1"),
    ],
    ids=str,
)
def test_what_may_leave_more_than_rows(sql: object) -> None:
    assert leaves_traces(sql)
