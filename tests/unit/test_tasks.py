"""The decorator, the options, using(), pickling."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from pytest_django import Settings

from conveyor_django import ConveyorTask, Exponential, Fixed, task
from conveyor_django.compat import InvalidTask, Task
from conveyor_django.errors import InvalidArguments, describe
from conveyor_django.options import concurrency_key_of
from conveyor_django.tasks import TaskOptions, options_of

from ..support import produce
from ..support.produce import FOREIGN, anything, plain_add


def handler(order: int) -> int:
    return order


def backoff(error: BaseException, result: Any) -> float:
    return 1.0


def test_without_options_the_settings_decide() -> None:
    made = task(handler)
    assert isinstance(made, ConveyorTask)
    assert (made.queue_name, made.priority, made.backend, made.takes_context) == (
        "default",
        0,
        "default",
        False,
    )
    assert options_of(made) == TaskOptions(max_attempts=None, backoff=None, timeout=None, atomic=False)
    assert made.idempotency_key is None


def test_every_option_arrives() -> None:
    made = task(queue_name="orders", priority=3, max_attempts=4, backoff=backoff, timeout=2.5, atomic=True)(handler)
    assert (made.queue_name, made.priority) == ("orders", 3)
    assert options_of(made) == TaskOptions(max_attempts=4, backoff=backoff, timeout=2.5, atomic=True)


@pytest.mark.parametrize(
    ("value", "policy"),
    [
        (5, Fixed(5)),
        (0, Fixed(0)),
        (2.5, Fixed(2.5)),
        (dt.timedelta(minutes=1), Fixed(60)),
        (Exponential(base=3), Exponential(base=3)),
        (backoff, None),
        (None, None),
    ],
)
def test_a_backoff_that_needs_no_result_is_a_policy(value: Any, policy: Any) -> None:
    options = options_of(task(backoff=value)(handler))
    assert options.policy == policy
    assert options.backoff_callable is (backoff if value is backoff else None)


@pytest.mark.parametrize("name", ["retry_on", "discard_on"])
@pytest.mark.parametrize("value", [ValueError, (ValueError, KeyError), (), None])
def test_exception_classes_arrive_as_isinstance_takes_them(name: str, value: Any) -> None:
    given: dict[str, Any] = {name: value}
    assert getattr(options_of(task(**given)(handler)), name) == value


def test_brackets_without_options() -> None:
    assert task()(handler) == task(handler)


def test_a_task_is_still_called_like_its_function() -> None:
    assert task(handler).call(7) == 7


def test_the_frameworks_decorator_makes_the_same_class() -> None:
    assert type(plain_add) is ConveyorTask


def test_options_of_a_plain_task_are_the_defaults(settings: Settings) -> None:
    settings.TASKS = FOREIGN
    plain = task(backend="foreign")(handler)
    assert type(plain) is Task
    assert options_of(plain) == TaskOptions()


def test_a_foreign_backend_gets_what_its_task_class_has(settings: Settings) -> None:
    settings.TASKS = FOREIGN
    made = task(backend="foreign", queue_name="default", priority=2, max_attempts=3, atomic=True)(handler)
    assert type(made) is Task
    assert (made.backend, made.priority) == ("foreign", 2)


@pytest.mark.parametrize("backend", ["default", "foreign"])
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("max_attempt", "Did you mean 'max_attempts'?"),
        ("queue", "Did you mean 'queue_name'?"),
        ("zzz", "Known options: priority, queue_name"),
        ("idempotency_key", ".using(idempotency_key=...)"),
        ("run_after", ".using(run_after=...)"),
    ],
)
def test_an_unknown_option_is_refused_for_every_backend(settings: Settings, backend: str, name: str, says: str) -> None:
    settings.TASKS = FOREIGN
    options: dict[str, Any] = {"backend": backend, name: None}
    with pytest.raises(TypeError) as caught:
        task(**options)(handler)
    assert name in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("max_attempts", 0, "not 0"),
        ("max_attempts", 1.5, "not 1.5"),
        ("max_attempts", True, "not True"),
        ("max_attempts", "3", "not '3'"),
        ("max_attempts", float("inf"), "not inf"),
        ("max_attempts", 2**31, "not 2147483648"),
        ("timeout", 0, "not 0"),
        ("timeout", -1, "not -1"),
        ("timeout", float("nan"), "not nan"),
        ("timeout", dt.timedelta(1), "not datetime.timedelta"),
        ("timeout", True, "not True"),
        ("timeout", 10**400, "above 0 and at most 3153600000, not 1000"),
        ("timeout", 3153600001, "not 3153600001; leave it out for no limit"),
        ("backoff", -1, "from 0 to 3153600000 seconds, not -1"),
        ("backoff", float("nan"), "not nan"),
        ("backoff", dt.timedelta(days=40_000), "from 0 to 3153600000 seconds"),
        ("backoff", "5", "a policy such as Exponential(base=2), a number of seconds, or a callable"),
        ("backoff", Exponential, "a policy, not its class: Exponential(…)"),
        ("retry_on", "ValueError", "an exception class or a tuple of them, not 'ValueError'"),
        ("retry_on", [ValueError], "a tuple of them, not [<class 'ValueError'>]"),
        ("discard_on", (ValueError, int), "a tuple of them"),
        ("discard_on", ValueError("x"), "not ValueError('x')"),
        ("atomic", 1, "not 1"),
        ("atomic", None, "not None"),
    ],
)
def test_an_impossible_option_is_refused_at_the_decorator(name: str, value: Any, says: str) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(InvalidTask) as caught:
        task(**options)(handler)
    assert f"{__name__}.handler: {name}" in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize("value", ["5", float("nan"), float("inf"), True, 1.5, 101, -101, [5], 10**400], ids=repr)
def test_an_impossible_priority_is_refused(value: Any) -> None:
    with pytest.raises(InvalidTask) as caught:
        anything.using(priority=value)
    assert str(caught.value) == (
        f"{anything.module_path}: priority must be a whole number from -100 to 100, not {describe(value)}."
    )


def test_no_priority_is_refused_at_the_decorator() -> None:
    options: dict[str, Any] = {"priority": None}
    with pytest.raises(InvalidTask, match="from -100 to 100, not None"):
        task(**options)(handler)


@pytest.mark.parametrize("value", [-100, 100, 5.0])
def test_a_priority_is_any_other_number(value: Any) -> None:
    assert anything.using(priority=value).priority == value


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("", "1 to 255 characters, not 0"),
        ("k" * 256, "1 to 255 characters, not 256"),
        ("a\x00", "cannot store"),
        ("\ud800", "cannot store"),
        ("conveyor:cron:a", "begins with 'conveyor:', which is kept for Conveyor's own; begin it with something else"),
        (42, "must be a str, not 42"),
        (b"k", "must be a str, not b'k'"),
    ],
    ids=ascii,
)
def test_an_impossible_key_is_refused(value: Any, says: str) -> None:
    with pytest.raises(InvalidTask) as caught:
        anything.using(idempotency_key=value)
    assert says in str(caught.value)


def test_a_key_may_be_any_other_text() -> None:
    assert anything.using(idempotency_key="é" * 255).idempotency_key == "é" * 255
    assert anything.using(idempotency_key="my conveyor:1").idempotency_key == "my conveyor:1"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("", "concurrency_key must have 1 to 255 characters, not 0"),
        ("k" * 256, "1 to 255 characters, not 256"),
        ("a\x00", "cannot store"),
        (42, "concurrency_key must be a str, not 42; pass str(...) of it"),
    ],
    ids=ascii,
)
def test_an_impossible_concurrency_key_is_refused(value: Any, says: str) -> None:
    for make in (lambda: anything.using(concurrency_key=value), lambda: task(concurrency_key=value)(handler)):
        with pytest.raises(InvalidTask) as caught:
            make()
        assert says in str(caught.value)


def test_a_callable_for_the_concurrency_key_that_raises_names_its_task() -> None:
    keyed = task(concurrency_key=lambda order: {}[order])(produce.with_options.func)
    says = r"with_options: its concurrency_key callable raised KeyError\(7\) for these arguments"
    with pytest.raises(InvalidArguments, match=says) as caught:
        concurrency_key_of(keyed, (7,), {})
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_concurrency_key_of_a_task_of_a_call_and_of_one_enqueue() -> None:
    def key_of(order: int, *, note: str = "") -> str | None:
        return f"order-{order}{note}" if order else None

    assert anything.concurrency_key is None
    constant, computed = (task(concurrency_key=key)(produce.with_options.func) for key in ("k", key_of))
    calls = [(constant, (1,), {}), (computed, (1,), {"note": "!"}), (computed, (0,), {})]
    assert [concurrency_key_of(*call) for call in calls] == ["k", "order-1!", None]
    assert concurrency_key_of(computed.using(concurrency_key="mine"), (1,), {}) == "mine"
    assert concurrency_key_of(plain_add, (1,), {}) is None


def test_a_callable_that_gives_no_key_is_refused_at_the_enqueue() -> None:
    made = task(concurrency_key=lambda order: order)(handler)
    with pytest.raises(InvalidTask, match=r"handler: concurrency_key must be a str, not 7; pass str\(...\) of it"):
        concurrency_key_of(made, (7,), {})


@pytest.mark.parametrize("value", ["2026-01-02", dt.timedelta(1), 5])
def test_run_after_must_be_an_instant(value: Any) -> None:
    with pytest.raises(InvalidTask) as caught:
        anything.using(run_after=value)
    assert "run_after must be a datetime" in str(caught.value)


def test_run_after_must_be_aware() -> None:
    with pytest.raises(InvalidTask):
        anything.using(run_after=dt.datetime(2026, 1, 2))  # noqa: DTZ001
