"""`with context.effect()`: the last part of a handler and its success are one commit."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction

from conveyor_django import ConveyorContext, Retry
from conveyor_django.errors import LeftOpen, UnstorableResult
from conveyor_django.outcomes import Answer, Committed, Fail
from conveyor_django.outcomes import Retry as RetryOutcome

from ..support.bench import Bench, attempts, scripted, steps
from ..support.connections import scalar
from ..support.jobs import insert_effect
from .conftest import Effects
from .handlers import charges, charges_in_vain

pytestmark = pytest.mark.django_db(transaction=True)


def test_its_writes_the_ledger_row_and_the_success_are_one_commit(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()
    seen = []

    def does(context: ConveyorContext) -> None:
        with context.effect() as effect:
            insert_effect("charge")
            effect.result = "paid"
            seen.append(bench.connection.execute("SELECT count(*) FROM test_effect").fetchone())
        seen.append(bench.connection.execute("SELECT state FROM conveyor_job").fetchone())

    finished = bench.run(does)
    assert seen == [(0,), ("succeeded",)]
    assert isinstance(finished.outcome, Committed)
    # The finisher has nothing to write.
    assert bench.finish(finished) is Answer.WON
    assert (effects(), steps()) == (["charge"], {"": "paid"})


def test_the_result_is_stored_as_json(bench: Bench, effects: Effects) -> None:
    result = scripted.enqueue()
    bench.complete(charges)
    result.refresh()
    assert result.return_value == {"paid": [1, 2]}


def test_it_is_read_committed_whatever_the_default(bench: Bench, effects: Effects, isolation: str) -> None:
    scripted.enqueue()
    seen = []

    def does(context: ConveyorContext) -> None:
        with context.effect():
            seen.append(scalar(connection, "SHOW transaction_isolation"))

    bench.complete(does)
    assert seen == ["read committed"]


def test_a_row_that_somebody_holds_for_a_moment_is_waited_for(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()
    holder = bench.connection
    tries = []

    def does(context: ConveyorContext) -> None:
        def let_go_at_the_second_try(execute: Any, sql: str, params: Any, many: bool, around: Any) -> Any:
            if "conveyor_ledger" in sql:
                tries.append(1)
                if len(tries) == 2:
                    holder.execute("ROLLBACK")
            return execute(sql, params, many, around)

        with connection.execute_wrapper(let_go_at_the_second_try), context.effect():
            insert_effect("charge")
            holder.execute("BEGIN")
            holder.execute("SELECT FROM conveyor_job FOR UPDATE")

    bench.complete(does)
    assert len(tries) == 2
    assert effects() == ["charge"]


def test_a_block_that_raises_has_not_been(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    assert isinstance(bench.complete(charges_in_vain), RetryOutcome)
    assert (effects(), steps()) == ([], {})
    assert attempts() == [("retry", "builtins.ValueError", "no")]
    bench.complete(charges)
    assert effects() == ["charge"]


def test_after_a_block_that_raised_another_may_follow(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        with pytest.raises(ValueError, match="no"):
            charges_in_vain(context)
        charges(context)

    assert isinstance(bench.complete(does), Committed)
    assert effects() == ["charge"]


@pytest.mark.parametrize("error", [ValueError("late"), Retry(), KeyboardInterrupt()], ids=repr)
def test_what_is_raised_after_the_commit_is_logged_and_no_outcome(
    bench: Bench, effects: Effects, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    result = scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        charges(context)
        raise error

    assert isinstance(bench.complete(does), Committed)
    assert "job.failed_after_effect" in caplog.text
    result.refresh()
    assert (result.status, result.errors) == ("SUCCESSFUL", [])


def test_an_on_commit_hook_that_raises_is_logged_and_no_outcome(
    bench: Bench, effects: Effects, caplog: pytest.LogCaptureFixture
) -> None:
    scripted.enqueue()
    after = []

    def does(context: ConveyorContext) -> None:
        with context.effect():
            transaction.on_commit(lambda: 1 / 0)
        after.append("reached")

    assert isinstance(bench.complete(does), Committed)
    assert "job.hook_failed" in caplog.text
    assert after == ["reached"]


@pytest.mark.parametrize(("returned", "warns"), [("other", True), (None, False), ("paid", False)])
def test_what_the_handler_returns_is_not_stored(
    bench: Bench, effects: Effects, returned: Any, warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> Any:
        with context.effect() as effect:
            effect.result = "paid"
        return returned

    bench.complete(does)
    assert steps() == {"": "paid"}
    assert ("result.not_stored" in caplog.text) is warns


def test_a_result_that_json_cannot_hold_rolls_it_back_and_fails_the_job(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        with context.effect() as effect:
            insert_effect("charge")
            effect.result = object()

    finished = bench.run(does)
    assert isinstance(finished.run.error, UnstorableResult)
    assert isinstance(finished.outcome, Fail)
    assert effects() == []


def test_a_block_left_open_inside_is_an_error_and_nothing_commits(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        with context.effect():
            insert_effect("charge")
            transaction.atomic().__enter__()

    try:
        finished = bench.run(does)
    finally:
        connection.in_atomic_block = False
        connection.savepoint_ids.clear()
        connection.close()
    assert isinstance(finished.run.error, LeftOpen)
    assert not finished.held.over
    assert effects() == []


def test_a_heartbeat_takes_its_end_for_no_loss(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()
    over = []

    def does(context: ConveyorContext) -> None:
        with context.effect():
            over.append(context._fence.lease.over)
            transaction.on_commit(lambda: over.append(context._fence.lease.over))

    bench.complete(does)
    assert over == [False, True]
