"""Retry, Snooze, Cancel and Fail: what a handler may say of its own end."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import pytest

from conveyor_django import Cancel, Fail, Retry, Snooze
from conveyor_django.endings import raised


@pytest.mark.parametrize(
    ("given", "seconds"), [(0, 0.0), (2, 2.0), (0.5, 0.5), (timedelta(minutes=1), 60.0), (3_153_600_000, 3.1536e9)]
)
@pytest.mark.parametrize("kind", [Retry, Snooze])
def test_a_delay_is_seconds_or_a_timedelta(kind: Any, given: Any, seconds: float) -> None:
    assert kind(given).in_ == kind(in_=given).in_ == seconds


def test_without_a_delay_the_backoff_decides() -> None:
    assert Retry().in_ is None
    assert Retry(reason="busy").reason == "busy"


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (-1, ValueError, "from 0 to 3153600000 seconds, not -1"),
        (timedelta(seconds=-1), ValueError, "from 0 to 3153600000 seconds"),
        (float("nan"), ValueError, "not nan"),
        (float("inf"), ValueError, "not inf"),
        (10**400, ValueError, "not 1000"),
        (timedelta(days=40_000), ValueError, "not datetime.timedelta(days=40000)"),
        ("5", TypeError, "must be seconds or a timedelta, not '5'"),
        (True, TypeError, "not True"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [Retry, Snooze])
def test_an_impossible_delay_is_refused(kind: Any, given: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error) as caught:
        kind(given)
    assert f"{kind.__name__}(in_=…) must be" in str(caught.value)
    assert says in str(caught.value)


def test_a_snooze_needs_a_delay() -> None:
    with pytest.raises(TypeError):
        Snooze()  # type: ignore[call-arg]


@pytest.mark.parametrize("kind", [Cancel, Fail, Retry])
def test_a_reason_is_a_text(kind: Any) -> None:
    with pytest.raises(TypeError, match=rf"{kind.__name__}: reason must be a str, not 7"):
        kind(reason=7)


@pytest.mark.parametrize("ending", [Retry(2, "busy"), Retry(), Snooze(3), Cancel("gone"), Fail()], ids=repr)
def test_it_can_be_pickled(ending: Any) -> None:
    copy = pickle.loads(pickle.dumps(ending))  # noqa: S301
    assert (type(copy), copy.in_, copy.reason, str(copy)) == (type(ending), ending.in_, ending.reason, ending.reason)


@pytest.mark.parametrize("value", [Retry(), Cancel("x"), Cancel, Retry])
def test_what_is_returned_is_raised(value: Any) -> None:
    with pytest.raises(value if isinstance(value, type) else type(value)):
        raised(value)


@pytest.mark.parametrize("value", [None, "Retry", ValueError("x"), ValueError, 0])
def test_other_values_are_not(value: Any) -> None:
    assert raised(value) is value
