"""`step` and `atomic_step` of a run that has lost its job or was told to stop: nothing more is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from conveyor_django import ConveyorContext
from conveyor_django.errors import LeaseLost
from conveyor_django.outcomes import Answer, Release

from ..support.bench import TOLD, Bench, scripted, steps
from ..support.connections import scalar
from ..support.jobs import insert_effect
from .conftest import Effects
from .handlers import KINDS, Calls

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stale_one_commits_nothing(bench: Bench, effects: Effects, kind: str, isolation: str) -> None:
    scripted.enqueue()
    after = []

    def does(context: ConveyorContext) -> None:
        def pay() -> None:
            if kind == "atomic_step":
                insert_effect("zombie")
            bench.take_over()

        getattr(context, kind)("pay", pay)
        after.append("reached")

    finished = bench.run(does)
    assert isinstance(finished.run.error, LeaseLost)
    assert isinstance(finished.outcome, Release)
    assert (after, steps(), effects()) == ([], {}, [])
    assert bench.finish(finished) is Answer.LOST


@pytest.mark.parametrize("kind", KINDS)
def test_one_that_knows_that_its_lease_has_lapsed_calls_nothing_more(bench: Bench, effects: Effects, kind: str) -> None:
    scripted.enqueue()
    fn = Calls()

    def does(context: ConveyorContext) -> None:
        context._fence.lease.deadline = 0.0
        getattr(context, kind)("pay", fn)

    assert isinstance(bench.run(does).run.error, LeaseLost)
    assert fn.count == 0


@pytest.mark.parametrize(("told", "error", "ends"), TOLD)
@pytest.mark.parametrize("kind", KINDS)
def test_one_of_a_run_that_was_told_to_stop_calls_nothing_more(
    bench: Bench, effects: Effects, kind: str, told: Callable[[Any], None], error: type[Exception], ends: str
) -> None:
    scripted.enqueue()
    fn = Calls()

    def does(context: ConveyorContext) -> None:
        told(context._fence.lease)
        with pytest.raises(error):
            getattr(context, kind)("pay", fn)

    assert bench.complete(does).verb == ends
    assert (fn.count, steps()) == (0, {})


@pytest.mark.parametrize("kind", KINDS)
def test_it_records_at_read_committed_whatever_the_default(
    bench: Bench, effects: Effects, kind: str, isolation: str
) -> None:
    scripted.enqueue()
    levels = []

    def look(execute: Any, sql: str, params: Any, many: bool, around: Any) -> Any:
        if "INSERT INTO conveyor_ledger" in sql:
            with around["connection"].connection.cursor() as cursor:
                levels.append(cursor.execute("SHOW transaction_isolation").fetchone()[0])
        return execute(sql, params, many, around)

    def does(context: ConveyorContext) -> None:
        with connection.execute_wrapper(look):
            getattr(context, kind)("pay", Calls())
        assert scalar(connection, "SHOW transaction_isolation") == isolation

    bench.complete(does)
    assert levels == ["read committed"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_renewal_in_between_does_no_harm(bench: Bench, effects: Effects, kind: str, isolation: str) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        def pay() -> None:
            scalar(connection, "SELECT count(*) FROM conveyor_job")
            bench.connection.execute("UPDATE conveyor_job SET lease_expires_at = lease_expires_at + interval '1 s'")

        getattr(context, kind)("pay", pay)

    bench.complete(does)
    assert "pay" in steps()
