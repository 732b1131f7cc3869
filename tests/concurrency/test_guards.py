"""Break each guard in turn: a scenario that holds with the statements as they are fails with each mutant.

`mutants.py` lists the mutants, which scenario catches which, and which guards cover one another. They run on tables
without the tests' transition guard, so that it is a scenario that notices, as it would have to in production.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from ..support.barriers import Threads
from ..support.connections import Connect, opened_connections
from ..support.races import AlteredJobs, Race
from ..support.schema import create_schema, drop_schema
from .cap_mutants import CAP_MUTANTS
from .mutants import ATTEMPT_KEY, LEDGER_KEY, MUTANTS, Mutant
from .scenarios import SCENARIOS

# By the index that is left out.
SCHEMAS = {"": "guards", LEDGER_KEY: "guards_without_ledger_key", ATTEMPT_KEY: "guards_without_attempt_key"}

# A mutant may also do what a CHECK constraint refuses.
CAUGHT = (AssertionError, psycopg.errors.CheckViolation)

ALL = [*MUTANTS, *CAP_MUTANTS]
PAIRS = [(mutant, name) for mutant in ALL for name in mutant.caught_by]
COVERED = [(mutant, name) for mutant in ALL for name in mutant.covered_in]


@pytest.fixture(scope="module")
def schemas(django_db_setup: None) -> Iterator[None]:
    """The tables without triggers, and again without one of the keys."""
    with opened_connections() as connect:
        connection = connect()
        for index, schema in SCHEMAS.items():
            create_schema(connection, schema, without_index=index)
        yield
        for schema in SCHEMAS.values():
            drop_schema(connection, schema)


def race_of(mutant: Mutant, sides: Threads, connect: Connect) -> Race:
    """Return a race with the mutant's statements and tables."""
    return Race(SCHEMAS[mutant.without_index], connect, sides, AlteredJobs(mutant.texts))


@pytest.mark.parametrize(("mutant", "name"), PAIRS, ids=str)
def test_the_scenario_catches_the_mutant(
    mutant: Mutant, name: str, schemas: None, sides: Threads, connect: Connect
) -> None:
    with pytest.raises(CAUGHT):
        SCENARIOS[name](race_of(mutant, sides, connect))


@pytest.mark.parametrize(("mutant", "name"), COVERED, ids=str)
def test_another_guard_covers_the_mutant(
    mutant: Mutant, name: str, schemas: None, sides: Threads, connect: Connect
) -> None:
    SCENARIOS[name](race_of(mutant, sides, connect))


def test_every_mutant_is_caught_or_wholly_covered() -> None:
    assert [mutant.what for mutant in ALL if not mutant.caught_by and "without the state" not in mutant.what] == []


def test_every_scenario_catches_some_mutant() -> None:
    assert set(SCENARIOS) - {name for _, name in PAIRS} == set()
