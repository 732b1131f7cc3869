"""The ground of the traces: private tables with the trigger of workflows, and a log that begins anew for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ..concurrency.flow_mutants import MIGRATION
from ..support.barriers import Threads
from ..support.connections import Connect
from ..support.schema import schema_of_its_own
from .log import install
from .runs import Traced

SCHEMA = "traced"


@pytest.fixture(scope="session")
def traced_schema(django_db_setup: None) -> Iterator[str]:
    """A schema with the tables, the trigger that releases dependants, and the workload's table of effects."""
    with schema_of_its_own(SCHEMA) as connection:
        connection.execute(MIGRATION.RELEASE_TRIGGER)
        connection.execute(f"CREATE TABLE {SCHEMA}.test_effect (name text, job bigint, token bigint, step text)")
        yield SCHEMA


@pytest.fixture
def traced(traced_schema: str, sides: Threads, connect: Connect) -> Traced:
    """Empty tables with a log; its connections close before its threads are joined."""
    return begin_trace(traced_schema, connect, sides)


def begin_trace(schema: str, connect: Connect, sides: Threads) -> Traced:
    """Empty the tables and begin their log."""
    traced = Traced(schema, connect, sides)
    traced.main.execute("DELETE FROM test_effect")
    install(traced.main)
    return traced
