"""What the tests of a handler's means share: a worker without threads, and a table for effects."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest
from django.db import connection
from django.test import TransactionTestCase
from psycopg import IsolationLevel

from ..support.bench import Bench, delete_jobs
from ..support.connections import Connect
from ..support.groups import Crew, crew

# Returns the names in the table of effects, sorted.
Effects = Callable[[], list[str]]


@pytest.fixture(scope="module", autouse=True)
def no_flush() -> Iterator[None]:
    """Leave the cleaning to `bench`: truncating every table takes longer than most of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: None)
        yield


@pytest.fixture
def bench(connect: Connect) -> Iterator[Bench]:
    """A worker without its threads; what it leaves is deleted."""
    connection = connect()
    yield Bench(connection)
    delete_jobs(connection)
    # An event loop of async_to_sync lives as long as the traceback of what was raised in it.
    gc.collect()


@pytest.fixture
def effects(db: None) -> Effects:
    """A table that keeps nothing from being doubled; returns its names."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS test_effect (name text NOT NULL)")
        cursor.execute("TRUNCATE test_effect")

    def read() -> list[str]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT name FROM test_effect ORDER BY name")
            return [name for (name,) in cursor.fetchall()]

    return read


@pytest.fixture
def one(bench: Bench, effects: Effects) -> Iterator[Crew]:
    """One thread: up to sixteen that are claimed at once are one group, more of them two."""
    with crew(bench.connection) as made:
        yield made


@pytest.fixture(params=["read committed", "repeatable read", "serializable", "by Django's option"])
def isolation(request: pytest.FixtureRequest, db: None) -> Iterator[str]:
    """The default isolation level of Django's connection, each in turn."""
    if request.param == "by Django's option":
        # As DATABASES["default"]["OPTIONS"]["isolation_level"] has each new connection set up.
        connection.ensure_connection()
        connection.connection.isolation_level = IsolationLevel.SERIALIZABLE
        level = "serializable"
    else:
        level = request.param
        with connection.cursor() as cursor:
            cursor.execute(f"SET default_transaction_isolation = '{level}'")
    yield level
    connection.close()
