"""The scenarios of workflows, with the code as it is and with each mutant of `flow_mutants.py`."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from ..support.barriers import Threads
from ..support.connections import Connect
from ..support.races import AlteredJobs
from ..support.schema import schema_of_its_own
from .flow_mutants import MIGRATION, MUTANTS, RESOLVE, Mutant
from .flows import SCENARIOS, Flow

SCHEMA = "flows"

PAIRS = [(mutant, name) for mutant in MUTANTS for name in mutant.caught_by]


@pytest.fixture(scope="module")
def schema(django_db_setup: None) -> Iterator[str]:
    """The tables with the trigger; its function finds others, of the same name, in this schema first."""
    with schema_of_its_own(SCHEMA) as connection:
        connection.execute(MIGRATION.RELEASE_TRIGGER)
        yield SCHEMA


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str, schema: str, sides: Threads, connect: Connect) -> None:
    flow = Flow(schema, connect, sides)
    SCENARIOS[name](flow)
    # Whatever it left: after the sweep each blocked job waits for one that has not ended.
    while flow.resolve(*flow.workflows.find_late_edges(limit=10, on=flow.main)) or flow.finish():
        pass
    assert flow.workflows.find_stuck(limit=10, on=flow.main) == []


@pytest.mark.parametrize(("mutant", "name"), PAIRS, ids=str)
def test_the_scenario_catches_the_mutant(
    mutant: Mutant, name: str, schema: str, sides: Threads, connect: Connect
) -> None:
    texts = dict(mutant.texts)
    function = texts.pop(RESOLVE, None)
    flow = Flow(schema, connect, sides, AlteredJobs(texts), texts=texts)
    if function is not None:
        flow.main.execute(function.replace(f"CREATE FUNCTION {RESOLVE}", f"CREATE FUNCTION {schema}.{RESOLVE}"))
    try:
        with pytest.raises((AssertionError, psycopg.errors.CheckViolation)):
            SCENARIOS[name](flow)
    finally:
        flow.connect().execute(f"DROP FUNCTION IF EXISTS {schema}.{RESOLVE}")


def test_every_mutant_is_caught() -> None:
    assert [mutant.what for mutant in MUTANTS if not mutant.caught_by] == []
