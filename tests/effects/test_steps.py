"""`step` and `atomic_step`: what a run has done is remembered, and not done again by the next."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction

from conveyor_django import ConveyorContext, Snooze
from conveyor_django.errors import InvalidStep, LeaseLost, NotAllowedHere, UnstorableResult
from conveyor_django.models import Ledger
from conveyor_django.outcomes import Answer, Committed, Fail, Release, Retry, Succeed
from conveyor_django.outcomes import Snooze as SnoozeOutcome

from ..support.bench import TOLD, Bench, attempts, scripted, scripted_atomic, steps
from ..support.connections import scalar
from ..support.jobs import insert_effect

pytestmark = pytest.mark.django_db(transaction=True)

Effects = Callable[[], list[str]]
KINDS = ("step", "atomic_step")


class Calls:
    """A function that counts its calls; `returns` may also be an exception to raise."""

    def __init__(self, returns: Any = None) -> None:
        self.returns = returns
        self.seen: list[tuple[Any, ...]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.seen.append((args, kwargs))
        if isinstance(self.returns, BaseException):
            raise self.returns
        return self.returns

    @property
    def count(self) -> int:
        """How often it was called."""
        return len(self.seen)


def fails_after(does: Callable[[ConveyorContext], Any]) -> Callable[[ConveyorContext], Any]:
    """Do that, then fail the run."""

    def handler(context: ConveyorContext) -> None:
        does(context)
        raise ValueError("later")

    return handler


@pytest.mark.parametrize("kind", KINDS)
def test_a_later_run_gets_the_result_without_a_call(bench: Bench, effects: Effects, kind: str) -> None:
    scripted.enqueue()
    fn, got = Calls({"ref": "x"}), []

    def does(context: ConveyorContext) -> None:
        got.append(getattr(context, kind)("pay", fn, 42, key="k"))

    assert isinstance(bench.complete(fails_after(does)), Retry)
    assert isinstance(bench.complete(does), Succeed)
    assert got == [{"ref": "x"}] * 2
    assert fn.seen == [((42,), {"key": "k"})]
    assert Ledger.objects.get(step="pay").lease_version == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("returned", "seen"),
    [
        (None, None),
        ((1, (2,)), [1, [2]]),
        ({"bb": 1, "a": 2}, {"a": 2, "bb": 1}),
        ({1: "x"}, {"1": "x"}),
        (b"text", "text"),
        ("a\x00b", "a\ufffdb"),
        (float("nan"), None),
        # jsonb writes it out, so that it comes back as an integer: in both runs.
        (1e20, 10**20),
        (10**40, 10**40),
        (0.1, 0.1),
    ],
    ids=repr,
)
def test_the_first_and_a_resumed_run_see_the_same(
    bench: Bench, effects: Effects, kind: str, returned: Any, seen: Any
) -> None:
    scripted.enqueue()
    got: list[Any] = []

    def does(context: ConveyorContext) -> None:
        got.append(getattr(context, kind)("pay", Calls(returned)))

    bench.complete(fails_after(does))
    bench.complete(does)
    assert [repr(each) for each in got] == [repr(seen)] * 2


def test_a_first_run_looks_nothing_up_and_a_later_one_once(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()
    lookups = []

    def count(execute: Any, sql: str, params: Any, many: bool, around: Any) -> Any:
        lookups.append("conveyor_ledger" in sql and sql.startswith("SELECT"))
        return execute(sql, params, many, around)

    def does(context: ConveyorContext) -> None:
        with connection.execute_wrapper(count):
            for i in range(3):
                context.step(f"send-{i}", Calls())

    bench.complete(fails_after(does))
    assert sum(lookups) == 0
    lookups.clear()
    bench.complete(does)
    # And nothing else: what is recorded costs no statement.
    assert lookups == [True]


def test_what_a_step_writes_stays_without_its_record(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()
    recorded = []

    def pay() -> None:
        insert_effect("pay")
        assert connection.get_autocommit()
        recorded.append(Ledger.objects.count())

    bench.complete(lambda context: context.step("pay", pay))
    assert (effects(), recorded) == (["pay"], [0])


def test_what_an_atomic_step_writes_commits_with_its_record(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()
    seen = []

    def look() -> None:
        seen.append(
            bench.connection.execute(
                "SELECT (SELECT count(*) FROM test_effect), (SELECT count(*) FROM conveyor_ledger)"
            ).fetchone()
        )

    def does(context: ConveyorContext) -> None:
        def pay() -> None:
            insert_effect("pay")
            look()

        context.atomic_step("pay", pay)
        look()

    bench.complete(does)
    assert seen == [(0, 0), (1, 1)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_function_that_raises_records_nothing_and_is_called_again(bench: Bench, effects: Effects, kind: str) -> None:
    scripted.enqueue()
    fn = Calls(ValueError("no"))

    def does(context: ConveyorContext) -> None:
        getattr(context, kind)("pay", lambda: (insert_effect("pay"), fn()))

    bench.complete(does)
    assert (steps(), effects()) == ({}, ["pay"] if kind == "step" else [])
    bench.complete(does)
    assert fn.count == 2


@pytest.mark.parametrize("kind", KINDS)
def test_within_a_run_it_may_be_tried_again(bench: Bench, effects: Effects, kind: str) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> Any:
        with pytest.raises(ValueError, match="no"):
            getattr(context, kind)("pay", Calls(ValueError("no")))
        return getattr(context, kind)("pay", Calls("yes"))

    bench.complete(does)
    assert steps() == {"pay": "yes", "": "yes"}


@pytest.mark.parametrize("kind", KINDS)
def test_an_ending_that_the_function_returns_is_raised(bench: Bench, effects: Effects, kind: str) -> None:
    scripted.enqueue()
    outcome = bench.complete(lambda context: getattr(context, kind)("pay", Calls(Snooze(5, "the bank sleeps"))))
    assert isinstance(outcome, SnoozeOutcome)
    assert steps() == {}
    assert attempts() == [("snooze", "conveyor_django.endings.Snooze", "the bank sleeps")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_that_json_cannot_hold_is_named_and_fails_the_job(bench: Bench, effects: Effects, kind: str) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        getattr(context, kind)("pay", lambda: (insert_effect("pay"), object())[1])

    finished = bench.run(does)
    assert isinstance(finished.run.error, UnstorableResult)
    assert f"step 'pay' of {scripted.module_path} returned a value" in str(finished.run.error)
    assert isinstance(finished.outcome, Fail)
    assert effects() == (["pay"] if kind == "step" else [])


def test_steps_then_an_effect(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        ref = context.step("authorise", lambda: "ref-1")
        context.atomic_step("book", insert_effect, "book")
        with context.effect() as effect:
            insert_effect("ship")
            effect.result = ref

    assert isinstance(bench.complete(does), Committed)
    assert steps() == {"authorise": "ref-1", "book": None, "": "ref-1"}
    assert effects() == ["book", "ship"]


# -- stale ------------------------------------------------------------------------------------------


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


# -- wrong uses -------------------------------------------------------------------------------------


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
