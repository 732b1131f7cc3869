"""A private copy of the tables in a schema of its own, for tests that need another state of the database.

A connection whose search_path begins with the schema runs the same statements on the copy. Keys, checks, indexes
and defaults are copied, triggers are not; Django's own tables stay untouched and nothing has to be cleaned.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from conveyor_django.db import Connection

from .connections import opened_connections

TABLES = (
    "job", "payload", "ledger", "attempt", "queue", "worker", "permit", "pausedtask", "cron", "workflow", "dependency",
    "apitoken",
)  # fmt: skip


@contextmanager
def schema_of_its_own(schema: str) -> Iterator[Connection]:
    """Make the schema, give a connection that works in it, and drop it in the end."""
    with opened_connections() as connect:
        connection = connect()
        connection.prepare_threshold = None
        create_schema(connection, schema)
        use_schema(connection, schema)
        yield connection
        # On a connection of its own: the first may be long gone by the end of the session.
        drop_schema(connect(), schema)


def create_schema(on: Connection, schema: str, *, without_index: str = "") -> None:
    """Make the schema anew, with an empty copy of every table; one index may be left out."""
    drop_schema(on, schema)
    on.execute(f"CREATE SCHEMA {schema}")
    for table in TABLES:
        on.execute(
            f"CREATE TABLE {schema}.conveyor_{table} (LIKE public.conveyor_{table} INCLUDING ALL EXCLUDING INDEXES)"
        )
        # What a test measures may not depend on when autovacuum comes by.
        on.execute(f"ALTER TABLE {schema}.conveyor_{table} SET (autovacuum_enabled = off)")
    for name, definition in _indexes(on):
        if name != without_index:
            on.execute(definition.replace(" ON public.", f" ON {schema}."))


def _indexes(on: Connection) -> list[tuple[str, str]]:
    # Copied one by one to keep their names, which LIKE does not.
    tables = [f"conveyor_{table}" for table in TABLES]
    return on.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename = ANY (%s)",
        (tables,),
    ).fetchall()


def drop_schema(on: Connection, schema: str) -> None:
    """Drop the schema if it is there."""
    on.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def use_schema(on: Any, schema: str) -> None:
    """Let the connection's statements find the copies; `on` may be Django's connection too."""
    with on.cursor() as cursor:
        cursor.execute(f"SET search_path = {schema}, public")
