"""Connections of a test: dedicated ones as workers have them, all closed when the test ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import psycopg
from django.db import connections

from conveyor_django import db


class Connect(Protocol):
    """Opens dedicated connections; the fixture `connect` closes them."""

    def __call__(self, application_name: str = ..., *, lease_seconds: float = ...) -> db.Connection:
        """Return a new dedicated connection to the test database, with pinned plans."""
        ...


@contextmanager
def opened_connections(alias: str = "default") -> Iterator[Connect]:
    """Give a `Connect` whose connections are closed at the end, whatever state they are in."""
    opened: list[db.Connection] = []

    def connect(application_name: str = "conveyor test", *, lease_seconds: float = 30.0) -> db.Connection:
        opened.append(db.connect(alias, application_name, lease_seconds=lease_seconds))
        return opened[-1]

    try:
        yield connect
    finally:
        for connection in opened:
            connection.close()


def plain_connection(alias: str = "default") -> db.Connection:
    """Open an autocommit connection without any of Conveyor's session settings; the caller closes it."""
    params = connections[alias].get_connection_params()
    for django_only in ("cursor_factory", "context", "prepare_threshold"):
        params.pop(django_only, None)
    connection: db.Connection = psycopg.connect(**params, autocommit=True)
    return connection


def scalar(connection: Any, query: str, params: Sequence[Any] | None = None) -> Any:
    """Run a query on Django's or psycopg's connection and return its one value, or None without a row."""
    with connection.cursor() as cursor:
        cursor.execute(query, params)
        row = cursor.fetchone()
        return None if row is None else row[0]


def commit_and_hang_up(connection: db.Connection, query: str, params: dict[str, Any]) -> None:
    """Send a statement that commits by itself and close the connection without reading the reply."""
    text = psycopg.ClientCursor(connection).mogrify(query, params)
    connection.pgconn.send_query(text.encode())
    while connection.pgconn.flush():
        pass
    connection.close()
