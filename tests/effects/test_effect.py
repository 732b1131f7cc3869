"""`with context.effect()`: the last part of a handler and its success are one commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, transaction

from conveyor_django import ConveyorContext, Retry
from conveyor_django.errors import JobCancelled, LeaseLost, LeftOpen, NotAllowedHere, TaskTimeout, UnstorableResult
from conveyor_django.models import Job, Ledger
from conveyor_django.outcomes import Answer, Committed, Fail, Release
from conveyor_django.outcomes import Retry as RetryOutcome

from ..support.bench import TOLD, Bench, attempts, scripted, scripted_async, scripted_atomic, steps
from ..support.connections import scalar
from ..support.jobs import insert_effect

pytestmark = pytest.mark.django_db(transaction=True)

Effects = Callable[[], list[str]]


def charges(context: ConveyorContext) -> None:
    """End in one effect."""
    with context.effect() as effect:
        insert_effect("charge")
        effect.result = {"paid": (1, 2)}


def charges_in_vain(context: ConveyorContext) -> None:
    """Raise inside the block."""
    with context.effect():
        insert_effect("charge")
        raise ValueError("no")


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


def test_a_stale_one_commits_nothing(bench: Bench, effects: Effects, isolation: str) -> None:
    scripted.enqueue()
    after = []

    def does(context: ConveyorContext) -> None:
        with context.effect():
            insert_effect("zombie")
            bench.take_over()
        after.append("reached")

    finished = bench.run(does)
    assert isinstance(finished.outcome, Release)
    assert (after, effects(), steps()) == ([], [], {})
    assert bench.finish(finished) is Answer.LOST
    assert Job.objects.get().state == "running"


def test_a_stale_one_may_catch_what_it_gets(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    def becomes_stale(context: ConveyorContext) -> None:
        with context.effect():
            insert_effect("zombie")
            bench.take_over()

    def does(context: ConveyorContext) -> str:
        with pytest.raises(LeaseLost):
            becomes_stale(context)
        return "still nothing"

    assert bench.finish(bench.run(does)) is Answer.LOST
    assert (effects(), steps()) == ([], {})


def test_one_that_knows_that_its_lease_has_lapsed_does_not_begin(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        context._fence.lease.deadline = 0.0
        with context.effect():
            pytest.fail("it began")

    assert isinstance(bench.run(does).outcome, Release)


def test_one_that_knows_that_its_lease_is_gone_does_not_begin(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        context._fence.lease.lapsed_at = 1.0
        with context.effect():
            pytest.fail("it began")

    assert isinstance(bench.run(does).outcome, Release)


@pytest.mark.parametrize(("told", "kind", "ends"), TOLD)
@pytest.mark.parametrize("inside", [False, True], ids=["before", "inside"])
def test_one_of_a_run_that_was_told_to_stop_commits_nothing(
    bench: Bench, effects: Effects, told: Callable[[Any], None], kind: type[Exception], ends: str, inside: bool
) -> None:
    """A handler may catch its interruption, and go on."""
    scripted.enqueue()
    began, raised = [], []

    def does(context: ConveyorContext) -> None:
        if not inside:
            told(context._fence.lease)
        try:
            with context.effect():
                began.append("began")
                insert_effect("charge")
                told(context._fence.lease)
        except (JobCancelled, TaskTimeout) as error:
            raised.append(type(error))

    assert bench.complete(does).verb == ends
    assert (bool(began), raised) == (inside, [kind])
    assert (effects(), steps()) == ([], {})


@pytest.mark.parametrize(("told", "kind", "ends"), TOLD)
def test_one_that_has_committed_stands_whatever_the_run_is_told(
    bench: Bench, effects: Effects, told: Callable[[Any], None], kind: type[Exception], ends: str
) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        with context.effect():
            insert_effect("charge")
            transaction.on_commit(lambda: told(context._fence.lease))

    assert bench.complete(does).verb == "succeed"
    assert effects() == ["charge"]


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


# -- where it is refused ----------------------------------------------------------------------------


def refused(bench: Bench, does: Callable[[ConveyorContext], Any]) -> str:
    """Run that; return the message of the NotAllowedHere that it ended with."""
    error = bench.run(does).run.error
    assert isinstance(error, NotAllowedHere)
    return str(error)


def test_in_an_atomic_task(bench: Bench, effects: Effects) -> None:
    scripted_atomic.enqueue()
    assert "effect() cannot be used in an atomic=True task" in refused(bench, charges)
    assert effects() == []


def test_inside_another(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        with context.effect(), context.effect():
            pytest.fail("it began")

    assert "inside a transaction on database 'default'" in refused(bench, does)


def test_inside_a_transaction_on_the_jobs_database(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        with transaction.atomic():
            charges(context)

    assert "could still roll it back. Call it outside" in refused(bench, does)
    assert effects() == []


def test_with_autocommit_off(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        connection.set_autocommit(False)
        try:
            charges(context)
        finally:
            connection.rollback()
            connection.set_autocommit(True)

    assert "inside a transaction" in refused(bench, does)
    assert effects() == []


def test_twice(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()
    messages = []

    def does(context: ConveyorContext) -> None:
        charges(context)
        with pytest.raises(NotAllowedHere) as caught, context.effect():
            pytest.fail("it began")
        messages.append(str(caught.value))

    assert isinstance(bench.complete(does), Committed)
    assert "was called again after it had committed" in messages[0]
    assert (effects(), Ledger.objects.count()) == (["charge"], 1)


def test_in_a_coroutine_but_not_in_its_functions(bench: Bench, effects: Effects) -> None:
    scripted_async.enqueue()
    messages = []

    async def does(context: ConveyorContext) -> None:
        with pytest.raises(NotAllowedHere) as caught, context.effect():
            pytest.fail("it began")
        messages.append(str(caught.value))
        await sync_to_async(charges)(context)

    assert isinstance(bench.complete(does), Committed)
    assert "await sync_to_async(function)(...)" in messages[0]
    assert effects() == ["charge"]
