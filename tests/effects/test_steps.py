"""`step` and `atomic_step`: what a run has done is remembered, and not done again by the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from conveyor_django import ConveyorContext, Snooze
from conveyor_django.errors import UnstorableResult
from conveyor_django.models import Ledger
from conveyor_django.outcomes import Committed, Fail, Retry, Succeed
from conveyor_django.outcomes import Snooze as SnoozeOutcome

from ..support.bench import Bench, attempts, scripted, steps
from ..support.jobs import insert_effect
from .conftest import Effects
from .handlers import KINDS, Calls

pytestmark = pytest.mark.django_db(transaction=True)


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
