"""The ground of the race tests: private tables that refuse illegal transitions, and real connections."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ..support.barriers import Threads
from ..support.connections import Connect
from ..support.races import Race
from ..support.schema import schema_of_its_own
from ..support.transitions import install_transition_guard

SCHEMA = "races"


@pytest.fixture(scope="session")
def race_schema(django_db_setup: None) -> Iterator[str]:
    """A schema with the tables and the transition guard."""
    with schema_of_its_own(SCHEMA) as connection:
        install_transition_guard(connection)
        yield SCHEMA


@pytest.fixture
def race(race_schema: str, sides: Threads, connect: Connect) -> Race:
    """A race with the statements as they are; its connections close before its threads are joined."""
    return Race(race_schema, connect, sides)
