"""The ground of the race tests: private tables that refuse illegal transitions, and real connections."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conveyor_django.db import Connection

from ..support.barriers import Threads, threads
from ..support.connections import Connect, opened_connections
from ..support.races import Race
from ..support.schema import create_schema, drop_schema, use_schema
from ..support.transitions import install_transition_guard

SCHEMA = "races"


@pytest.fixture(scope="session")
def race_schema(django_db_setup: None) -> Iterator[str]:
    """A schema with the tables and the transition guard."""
    with opened_connections() as connect:
        connection = connect()
        connection.prepare_threshold = None
        create_schema(connection, SCHEMA)
        use_schema(connection, SCHEMA)
        install_transition_guard(connection)
        yield SCHEMA
        # On a connection of its own: the first may be long gone by the end of the session.
        drop_schema(connect(), SCHEMA)


@pytest.fixture
def sides(watcher: Connection) -> Iterator[Threads]:
    """Threads for the sides of a race."""
    with threads(watcher) as sides:
        yield sides


@pytest.fixture
def race(race_schema: str, sides: Threads, connect: Connect) -> Race:
    """A race with the statements as they are; its connections close before its threads are joined."""
    return Race(race_schema, connect, sides)
