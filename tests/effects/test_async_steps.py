"""`astep` and `aatomic_step`: durable steps of async handlers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from conveyor_django import ConveyorContext, Retry
from conveyor_django.errors import InvalidStep, LeaseLost, NotAllowedHere, UnstorableResult
from conveyor_django.outcomes import Answer, Release, Succeed
from conveyor_django.outcomes import Retry as RetryOutcome

from ..support.bench import TOLD, Bench, scripted_async, steps
from ..support.jobs import insert_effect
from .conftest import Effects

pytestmark = pytest.mark.django_db(transaction=True)


async def double(number: int) -> tuple[int, int]:
    """An async function."""
    await asyncio.sleep(0)  # no time passes: the loop has one turn, as in a function that awaits something
    return (number, number)


def error_of(bench: Bench, does: Callable[[ConveyorContext], Any], kind: type[Exception]) -> str:
    """Run that; return the message of the error of that kind that it ended with."""
    error = bench.run(does).run.error
    assert type(error) is kind, error
    return str(error)


@pytest.mark.parametrize(
    "fn",
    [double, lambda number: (number, number)],
    ids=["async", "sync"],
)
def test_a_later_run_gets_the_result_without_a_call(bench: Bench, effects: Effects, fn: Any) -> None:
    scripted_async.enqueue()
    calls, got = [], []

    async def counted(number: int) -> Any:
        calls.append(number)
        result = fn(number)
        return await result if asyncio.iscoroutine(result) else result

    async def fails(context: ConveyorContext) -> None:
        got.append(await context.astep("double", counted, 4))
        raise ValueError("later")

    async def ends(context: ConveyorContext) -> None:
        got.append(await context.astep("double", counted, 4))

    bench.complete(fails)
    assert isinstance(bench.complete(ends), Succeed)
    assert got == [[4, 4]] * 2
    assert calls == [4]


@pytest.mark.parametrize("fn", [lambda: double(1), lambda: (1, 1)], ids=["returns a coroutine", "sync"])
def test_a_function_that_is_not_declared_async(bench: Bench, effects: Effects, fn: Any) -> None:
    scripted_async.enqueue()

    async def does(context: ConveyorContext) -> Any:
        return await context.astep("double", fn)

    bench.complete(does)
    assert steps() == {"double": [1, 1], "": [1, 1]}


def test_a_sync_function_may_use_the_orm(bench: Bench, effects: Effects) -> None:
    scripted_async.enqueue()

    async def does(context: ConveyorContext) -> None:
        await context.astep("book", insert_effect, "book")
        await context.aatomic_step("ship", insert_effect, "ship")

    bench.complete(does)
    assert effects() == ["book", "ship"]
    assert set(steps()) == {"book", "ship", ""}


def test_several_at_once(bench: Bench, effects: Effects) -> None:
    scripted_async.enqueue()

    async def does(context: ConveyorContext) -> Any:
        return await asyncio.gather(*(context.astep(f"n-{i}", double, i) for i in range(4)))

    bench.complete(does)
    assert steps() == {f"n-{i}": [i, i] for i in range(4)} | {"": [[i, i] for i in range(4)]}


@pytest.mark.parametrize("kind", ["astep", "aatomic_step"])
def test_a_stale_one_commits_nothing(bench: Bench, effects: Effects, kind: str) -> None:
    scripted_async.enqueue()

    async def does(context: ConveyorContext) -> None:
        def pay() -> None:
            if kind == "aatomic_step":
                insert_effect("zombie")
            bench.take_over()

        await getattr(context, kind)("pay", pay)

    finished = bench.run(does)
    assert isinstance(finished.run.error, LeaseLost)
    assert isinstance(finished.outcome, Release)
    assert bench.finish(finished) is Answer.LOST
    assert (steps(), effects()) == ({}, [])


def test_an_ending_that_the_function_returns_is_raised(bench: Bench, effects: Effects) -> None:
    scripted_async.enqueue()

    async def later() -> Retry:
        return Retry(3)

    async def does(context: ConveyorContext) -> None:
        await context.astep("pay", later)

    outcome = bench.complete(does)
    assert isinstance(outcome, RetryOutcome)
    assert outcome.delay == 3
    assert steps() == {}


@pytest.mark.parametrize(("told", "error", "ends"), TOLD)
@pytest.mark.parametrize("kind", ["astep", "aatomic_step"])
def test_one_of_a_run_that_was_told_to_stop_calls_nothing_more(
    bench: Bench, effects: Effects, kind: str, told: Callable[[Any], None], error: type[Exception], ends: str
) -> None:
    scripted_async.enqueue()

    async def does(context: ConveyorContext) -> None:
        told(context._fence.lease)
        with pytest.raises(error):
            await getattr(context, kind)("pay", lambda: pytest.fail("it was called"))

    assert bench.complete(does).verb == ends
    assert steps() == {}


def test_a_cancelled_one_records_nothing(bench: Bench, effects: Effects) -> None:
    scripted_async.enqueue()

    async def does(context: ConveyorContext) -> None:
        step = asyncio.ensure_future(context.astep("pay", asyncio.Event().wait))
        await asyncio.sleep(0)  # no time passes: the loop has one turn, in which the step begins
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        await context.astep("pay", double, 1)

    bench.complete(does)
    assert steps() == {"pay": [1, 1], "": None}


@pytest.mark.parametrize("kind", ["step", "atomic_step"])
def test_the_sync_ones_are_refused_on_the_event_loop(bench: Bench, effects: Effects, kind: str) -> None:
    scripted_async.enqueue()

    async def does(context: ConveyorContext) -> None:
        getattr(context, kind)("pay", insert_effect, "pay")

    assert f"await context.a{kind}(...)" in error_of(bench, does, NotAllowedHere)
    assert effects() == []


def test_a_transaction_needs_a_sync_function(bench: Bench, effects: Effects) -> None:
    scripted_async.enqueue()

    async def does(context: ConveyorContext) -> None:
        await context.aatomic_step("double", double, 1)

    assert "A transaction needs a sync function" in error_of(bench, does, InvalidStep)


@pytest.mark.parametrize("kind", ["astep", "aatomic_step"])
def test_the_same_name_twice(bench: Bench, effects: Effects, kind: str) -> None:
    scripted_async.enqueue()

    async def does(context: ConveyorContext) -> None:
        for _ in range(2):
            await getattr(context, kind)("send", insert_effect, "send")

    assert 'f"send-{i}"' in error_of(bench, does, InvalidStep)
    assert effects() == ["send"]


@pytest.mark.parametrize("kind", ["astep", "aatomic_step"])
def test_a_result_that_json_cannot_hold(bench: Bench, effects: Effects, kind: str) -> None:
    scripted_async.enqueue()

    async def does(context: ConveyorContext) -> None:
        await getattr(context, kind)("pay", object)

    assert "step 'pay' of" in error_of(bench, does, UnstorableResult)


def test_inside_a_transaction_of_the_orms_thread(bench: Bench, effects: Effects) -> None:
    scripted_async.enqueue()

    async def does(context: ConveyorContext) -> None:
        await sync_to_async(lambda: connection.set_autocommit(False))()
        try:
            await context.astep("double", double, 1)
        finally:
            await sync_to_async(lambda: (connection.rollback(), connection.set_autocommit(True)))()

    assert "inside a transaction" in error_of(bench, does, NotAllowedHere)


def test_an_async_function_runs_on_the_loop_and_a_sync_one_does_not(bench: Bench, effects: Effects) -> None:
    scripted_async.enqueue()
    threads = []

    async def here() -> None:
        threads.append(threading.get_ident())

    async def does(context: ConveyorContext) -> bool:
        await context.astep("here", here)
        return threads == [threading.get_ident()]

    bench.complete(does)
    assert steps()[""] is True
