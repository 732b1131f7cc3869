"""Assertions, the clock, immediate mode and the pytest fixture."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace

import pytest

from conveyor_django import cancel, testing
from conveyor_django.models import Job
from conveyor_django.testing import assert_enqueued, assert_not_enqueued, enqueued, frozen_clock, immediate

from . import tasks

pytestmark = pytest.mark.django_db

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def test_what_was_enqueued_can_be_listed() -> None:
    tasks.add.enqueue(1, b=2)
    tasks.order.using(priority=5, idempotency_key="k").enqueue("A-17")
    first, second = enqueued()
    assert (first.args, first.kwargs, first.queue, first.state) == ([1], {"b": 2}, "default", "ready")
    assert (second.priority, second.idempotency_key) == (5, "k")
    assert enqueued(tasks.order) == enqueued(queue="orders") == [second]
    assert str(first) == "tests.testing.tasks.add(1, b=2) in 'default', ready"


def test_an_assertion_returns_the_jobs_that_it_found() -> None:
    for _ in range(2):
        tasks.add.enqueue(1)
    tasks.add.enqueue((2, 3))
    assert len(assert_enqueued(tasks.add)) == 3
    assert len(assert_enqueued(tasks.add, args=[1], kwargs={}, count=2)) == 2
    assert_enqueued("tests.testing.tasks.add", args=[(2, 3)], queue="default", state="ready")
    assert_not_enqueued(tasks.add, args=[9])
    assert_not_enqueued(tasks.order)


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"args": [9]}, "with args=[9] was enqueued 0 times, not at least once"),
        ({"count": 2}, "with any arguments was enqueued 1 times, not 2"),
        ({"count": 0}, "was enqueued 1 times, not 0"),
        ({"queue": "orders"}, "Nothing was enqueued."),
        ({"priority": 3}, "Enqueued were:\n  tests.testing.tasks.add(1) in 'default', ready"),
    ],
    ids=str,
)
def test_a_failed_assertion_lists_what_there_is(wanted: dict[str, object], says: str) -> None:
    tasks.add.enqueue(1)
    with pytest.raises(AssertionError) as caught:
        assert_enqueued(tasks.add, **wanted)  # type: ignore[arg-type]
    assert says in str(caught.value)


def test_a_field_that_there_is_not_is_refused() -> None:
    with pytest.raises(TypeError, match=r"assert_enqueued\(\) knows no prio; compare id, task"):
        assert_enqueued(tasks.add, prio=1)


def test_the_clock_is_that_of_every_statement() -> None:
    with frozen_clock(NOON) as clock:
        result = tasks.add.enqueue(1)
        assert Job.objects.get().created_at == NOON
        assert clock.advance(90) == clock.now == NOON + dt.timedelta(seconds=90)
        cancel(result)
    assert Job.objects.get().finished_at == NOON + dt.timedelta(seconds=90)
    tasks.add.enqueue(1)
    assert Job.objects.latest("pk").created_at > NOON + dt.timedelta(hours=1)


def test_a_naive_clock_and_one_that_runs_backwards_are_refused() -> None:
    with pytest.raises(ValueError, match="needs an aware datetime"), frozen_clock(dt.datetime(2026, 3, 1)):  # noqa: DTZ001
        pass
    with frozen_clock(NOON) as clock, pytest.raises(ValueError, match=r"cannot be put back \(-1\)"):
        clock.advance(-1)


def test_immediate_mode_runs_a_task_where_it_is_enqueued() -> None:
    with immediate():
        assert tasks.add.enqueue(1, b=2).return_value == 3
        assert tasks.order.using(idempotency_key="k").enqueue("A-17").return_value == "A-17"
        assert not Job.objects.exists()
    assert tasks.add.enqueue(1).status == "READY"


@immediate()
def test_immediate_mode_is_a_decorator_too() -> None:
    assert tasks.add.enqueue(1).return_value == 1


def test_the_fixture_has_everything(conveyor: SimpleNamespace) -> None:
    tasks.add.enqueue(1)
    conveyor.assert_enqueued(tasks.add)
    assert [r.return_value for r in conveyor.drain()] == [1]
    assert set(vars(conveyor)) == set(testing.__all__)
