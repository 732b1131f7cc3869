"""The log of every change of Conveyor's tables, in the order in which transactions committed.

Triggers write each change into the table ``conveyor_trace``, in the transaction that makes it: what is rolled back is
not there, and what has committed survives a crash. The order is drawn at the commit: deferred triggers take an advisory
lock, which ends with the transaction, and only then a number. Whoever has the lower number was visible to everybody
before the next one was drawn.

Nobody can hang on that lock for long. It is taken in the commit, where the server waits for no client; and in the
second round of deferred triggers, so that foreign keys' deferred checks, which may wait for rows, are done by then.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, Final, cast

from conveyor_django.db import Connection
from conveyor_django.sql import names, statement

Row = dict[str, Any]

# The tables that matter to the model; the first one is the workload's own, which may be missing or have other columns.
TABLES: Final = (
    "test_effect", "conveyor_job", "conveyor_ledger", "conveyor_attempt", "conveyor_dependency", "conveyor_permit",
    "conveyor_queue", "conveyor_workflow", "conveyor_cron",
)  # fmt: skip
# What is there when the log begins.
BASE: Final = "BASE"
# Key of the advisory lock that puts commits into one order ("TRAC").
LOCK: Final = 0x54524143

_TABLES_AND_FUNCTIONS: Final = """
CREATE SEQUENCE conveyor_trace_number CACHE 1;
CREATE TABLE conveyor_trace_commit (xid xid8 PRIMARY KEY, number bigint, at timestamptz);
CREATE TABLE conveyor_trace (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid xid8 NOT NULL, pid integer NOT NULL, application text NOT NULL, statement text NOT NULL,
    began timestamptz NOT NULL, place text NOT NULL, op text NOT NULL, old jsonb, new jsonb
);

-- Owned by whoever installs the log: the workers' role needs no right on it. One time zone for all sessions' rows.
CREATE FUNCTION conveyor_trace_note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp SET timezone = 'UTC' AS $body$
BEGIN
    INSERT INTO conveyor_trace (xid, pid, application, statement, began, place, op, old, new)
    VALUES (
        pg_current_xact_id(), pg_backend_pid(), current_setting('application_name'),
        left(split_part(ltrim(current_query(), E' \\n'), E'\\n', 1), 200), statement_timestamp(),
        TG_TABLE_NAME, TG_OP,
        -- Without what handlers returned and raised: it may be large, and says nothing of the protocol.
        CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) - '{{result,message,traceback}}'::text[] END,
        CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) - '{{result,message,traceback}}'::text[] END);
    RETURN NULL;
END
$body$;

CREATE FUNCTION conveyor_trace_commit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $body$
BEGIN
    INSERT INTO conveyor_trace_commit (xid) VALUES (NEW.xid) ON CONFLICT (xid) DO NOTHING;
    RETURN NULL;
END
$body$;

CREATE FUNCTION conveyor_trace_number() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $body$
BEGIN
    PERFORM pg_advisory_xact_lock({lock});
    UPDATE conveyor_trace_commit SET number = nextval('conveyor_trace_number'), at = clock_timestamp()
    WHERE xid = NEW.xid;
    RETURN NULL;
END
$body$;

CREATE CONSTRAINT TRIGGER conveyor_trace_commit AFTER INSERT ON conveyor_trace
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION conveyor_trace_commit();
CREATE CONSTRAINT TRIGGER conveyor_trace_number AFTER INSERT ON conveyor_trace_commit
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION conveyor_trace_number();
-- In sessions of any session_replication_role.
ALTER TABLE conveyor_trace ENABLE ALWAYS TRIGGER conveyor_trace_commit;
ALTER TABLE conveyor_trace_commit ENABLE ALWAYS TRIGGER conveyor_trace_number;
"""

# First by name of the table's triggers, so that the end of a job is logged ahead of what it releases.
_TRIGGER: Final = """
CREATE TRIGGER a_trace AFTER INSERT OR UPDATE OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION conveyor_trace_note();
ALTER TABLE {table} ENABLE ALWAYS TRIGGER a_trace;
INSERT INTO conveyor_trace (xid, pid, application, statement, began, place, op, new)
SELECT pg_current_xact_id(), pg_backend_pid(), current_setting('application_name'), '', statement_timestamp(),
       '{table}', 'BASE', to_jsonb(row) - '{{result,message,traceback}}'::text[]
FROM {table} AS row;
"""

_DROP: Final = """
DROP TABLE IF EXISTS conveyor_trace, conveyor_trace_commit;
DROP FUNCTION IF EXISTS conveyor_trace_note, conveyor_trace_commit, conveyor_trace_number CASCADE;
DROP SEQUENCE IF EXISTS conveyor_trace_number;
"""

_READ: Final = """
SELECT number, trace.xid::text::bigint, at, place, op, old::text, new::text, statement, application, pid, began
FROM conveyor_trace AS trace JOIN conveyor_trace_commit USING (xid)
ORDER BY number, trace.id
"""

_OWNER: Final = re.compile(r"conveyor ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One row that one statement changed: `old` and `new` as JSON has them, None where there is no such row.

    `statement` is the name of its file in ``sql/``, or else the first line of the query; `began` its own clock.
    """

    table: str
    op: str
    old: Row | None
    new: Row | None
    statement: str = ""
    application: str = ""
    pid: int = 0
    began: dt.datetime

    @property
    def actor(self) -> str | None:
        """The worker's incarnation that the session is named after, if it is a worker's."""
        named = _OWNER.match(self.application)
        return named[1] if named else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One transaction: its changes in the order in which it made them; `number` is its place among all commits."""

    number: int
    xid: int
    at: dt.datetime
    changes: tuple[Change, ...]


def install(connection: Any) -> None:
    """Begin the log in the first schema of the connection's search path; what is there already is its first step.

    `connection` is Django's or psycopg's, outside of a transaction. Takes the tables' locks for a moment.
    """
    session = _session(connection)
    schema = session.execute("SELECT current_schema()").fetchone()[0]  # type: ignore[index]
    here = "SELECT relname FROM pg_class WHERE relname = ANY (%s) AND relnamespace = %s::regnamespace"
    found = {row[0] for row in session.execute(here, (list(TABLES), schema)).fetchall()}
    triggers = [_TRIGGER.format(table=table) for table in TABLES if table in found]
    # One transaction: nothing changes between the tables' first rows and their triggers.
    with session.transaction():
        session.execute(
            "SET LOCAL timezone = 'UTC';"
            + _DROP
            + _TABLES_AND_FUNCTIONS.format(schema=schema, lock=LOCK)
            + "".join(triggers),
            prepare=False,
        )


def clear(connection: Any) -> None:
    """Begin the log anew, where the tables are empty: cheaper than `install`."""
    session = _session(connection)
    with session.transaction():
        session.execute("DELETE FROM conveyor_trace")
        session.execute("DELETE FROM conveyor_trace_commit")


def uninstall(connection: Any) -> None:
    """Remove the log and its triggers."""
    session = _session(connection)
    with session.transaction():
        session.execute(_DROP, prepare=False)


def read_log(connection: Any) -> list[Step]:
    """Return every committed transaction that changed something, in the order of the commits."""
    rows = _session(connection).execute(_READ).fetchall()
    return [
        Step(number=number, xid=xid, at=at, changes=tuple(_change(row[3:]) for row in of_step))
        for (number, xid, at), of_step in groupby(rows, key=lambda row: (row[0], row[1], row[2]))
    ]


def _change(row: tuple[Any, ...]) -> Change:
    place, op, old, new, first_line, application, pid, began = row
    return Change(
        table=place, op=op, old=old and json.loads(old), new=new and json.loads(new),
        statement=_names().get(first_line, first_line), application=application, pid=pid, began=began,
    )  # fmt: skip


@cache
def _names() -> dict[str, str]:
    """Return {first line: name} of the statements."""
    return {statement(name).split("\n", 1)[0][:200]: name for name in names()}


def _session(connection: Any) -> Connection:
    """Return psycopg's connection, if it was Django's."""
    if not hasattr(connection, "ensure_connection"):
        return cast("Connection", connection)
    connection.ensure_connection()
    return cast("Connection", connection.connection)
