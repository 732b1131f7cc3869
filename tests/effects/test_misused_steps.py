"""`step` and `atomic_step` where they cannot work: the error names the fix, and nothing is recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction

from conveyor_django import ConveyorContext
from conveyor_django.errors import InvalidStep, NotAllowedHere

from ..support.bench import Bench, scripted, scripted_atomic, steps
from .conftest import Effects
from .handlers import KINDS, Calls

pytestmark = pytest.mark.django_db(transaction=True)


def error_of(bench: Bench, does: Callable[[ConveyorContext], Any], kind: type[Exception]) -> str:
    """Run that; return the message of the error of that kind that it ended with."""
    error = bench.run(does).run.error
    assert type(error) is kind, error
    return str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_name_twice(bench: Bench, effects: Effects, kind: str) -> None:
    scripted.enqueue()
    fn = Calls()

    def does(context: ConveyorContext) -> None:
        for _ in range(2):
            getattr(context, kind)("send", fn)

    message = error_of(bench, does, InvalidStep)
    assert "called twice in one run" in message
    assert 'f"send-{i}"' in message
    assert fn.count == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "1 to 255 characters, not 0 ('')"),
        ("n" * 256, "1 to 255 characters, not 256"),
        (7, "must be a str, not 7"),
        (None, "must be a str, not None"),
        ("a\x00", "cannot store"),
        ("\ud800", "cannot store"),
    ],
    ids=ascii,
)
def test_an_impossible_name(bench: Bench, effects: Effects, kind: str, name: Any, says: str) -> None:
    scripted.enqueue()
    fn = Calls()
    assert says in error_of(bench, lambda context: getattr(context, kind)(name, fn), InvalidStep)
    assert fn.count == 0


def test_a_name_may_be_any_other_text(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()
    bench.complete(lambda context: context.step("é" * 255, Calls()))
    assert "é" * 255 in steps()


@pytest.mark.parametrize("kind", KINDS)
def test_in_an_atomic_task(bench: Bench, effects: Effects, kind: str) -> None:
    scripted_atomic.enqueue()
    fn = Calls()
    message = error_of(bench, lambda context: getattr(context, kind)("pay", fn), NotAllowedHere)
    assert f"{kind}('pay') cannot be used in an atomic=True task" in message
    assert "drop atomic=True" in message
    assert fn.count == 0


@pytest.mark.parametrize("kind", KINDS)
def test_inside_a_transaction(bench: Bench, effects: Effects, kind: str) -> None:
    scripted.enqueue()
    fn = Calls()

    def does(context: ConveyorContext) -> None:
        with transaction.atomic():
            getattr(context, kind)("pay", fn)

    assert "put them into the function of an atomic_step()" in error_of(bench, does, NotAllowedHere)
    assert fn.count == 0


@pytest.mark.parametrize("kind", KINDS)
def test_inside_an_atomic_step(bench: Bench, effects: Effects, kind: str) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        context.atomic_step("outer", lambda: getattr(context, kind)("inner", Calls()))

    assert f"{kind}('inner') was called inside a transaction" in error_of(bench, does, NotAllowedHere)
    assert steps() == {}


def test_inside_a_step_that_is_no_transaction(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()
    bench.complete(lambda context: context.step("outer", lambda: context.step("inner", Calls(1))))
    assert steps() == {"inner": 1, "outer": 1, "": 1}


def test_a_transaction_that_the_function_leaves_open(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()
    try:
        message = error_of(
            bench, lambda context: context.step("pay", lambda: transaction.atomic().__enter__()), NotAllowedHere
        )
    finally:
        connection.in_atomic_block = False
        connection.savepoint_ids.clear()
        connection.close()
    assert "inside a transaction" in message
    assert steps() == {}


@pytest.mark.parametrize("kind", KINDS)
def test_after_the_effect(bench: Bench, effects: Effects, kind: str) -> None:
    scripted.enqueue()
    fn, messages = Calls(), []

    def does(context: ConveyorContext) -> None:
        with context.effect():
            pass
        with pytest.raises(NotAllowedHere) as caught:
            getattr(context, kind)("pay", fn)
        messages.append(str(caught.value))

    bench.complete(does)
    assert "Call it before the effect" in messages[0]
    assert fn.count == 0


async def an_async_function() -> None:
    pytest.fail("it was called")


class AsyncCallable:
    async def __call__(self) -> None:
        pytest.fail("it was called")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "fn", [an_async_function, partial(an_async_function), AsyncCallable(), lambda *_: an_async_function()],
    ids=["function", "partial", "callable", "returned"],
)  # fmt: skip
def test_an_async_function(bench: Bench, effects: Effects, kind: str, fn: Any) -> None:
    scripted.enqueue()
    message = error_of(bench, lambda context: getattr(context, kind)("pay", fn), InvalidStep)
    assert f"{kind}('pay') got" in message
    assert ("Say `await context.astep(...)`" if kind == "step" else "A transaction needs a sync function") in message
    assert steps() == {}
