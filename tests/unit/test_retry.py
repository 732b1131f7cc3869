"""The delays of retries and reconnects."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice

import pytest

from conveyor_django.retry import MAX_DELAY, Exponential, Fixed, Linear, Policy, exponential_delay, reconnect_delays


def highest(low: float, high: float) -> float:
    return high


def lowest(low: float, high: float) -> float:
    return low


@pytest.mark.parametrize(
    ("attempt", "delay"), [(0, 2.0), (1, 2.0), (2, 4.0), (5, 32.0), (6, 50.0), (7, 50.0), (100_000, 50.0)]
)
def test_it_doubles_up_to_the_cap(attempt: int, delay: float) -> None:
    assert exponential_delay(attempt, base=2.0, cap=50.0, uniform=highest) == delay


def test_at_most_half_is_taken_away() -> None:
    assert exponential_delay(3, base=2.0, cap=50.0, uniform=lowest) == 4.0


def test_jobs_that_failed_together_do_not_come_back_together() -> None:
    delays = {exponential_delay(4) for _ in range(20)}
    assert len(delays) > 1
    assert all(4.0 <= delay <= 8.0 for delay in delays)


def test_the_first_reconnect_is_at_once() -> None:
    assert next(reconnect_delays()) == 0.0


def test_reconnects_slow_down_but_never_end() -> None:
    delays = list(islice(reconnect_delays(first=0.1, cap=2.0), 1, 50))
    assert all(0.05 <= delay <= 2.0 for delay in delays)
    assert delays[0] <= 0.1
    assert min(delays[-10:]) >= 1.0


@pytest.mark.parametrize(
    ("policy", "delays"),
    [
        (Exponential(base=2, cap=50, jitter=0), [2, 4, 8, 16, 32, 50, 50]),
        (Exponential(base=1, cap=1000, factor=10, jitter=0), [1, 10, 100, 1000, 1000, 1000, 1000]),
        (Exponential(base=0), [0] * 7),
        (Linear(3, cap=10), [3, 6, 9, 10, 10, 10, 10]),
        (Fixed(7), [7] * 7),
    ],
)
def test_a_policy_s_delays(policy: Policy, delays: list[float]) -> None:
    assert [policy.delay(attempt) for attempt in range(1, 8)] == delays


@pytest.mark.parametrize("factor", [2, 1000, 1.5])
def test_no_attempt_is_too_many(factor: float) -> None:
    assert Exponential(factor=factor, cap=60, jitter=0).delay(100_000) == 60


@pytest.mark.parametrize(
    ("policy", "low", "high"),
    [
        (Exponential(base=8), 4.0, 8.0),
        (Exponential(base=8, jitter=1), 0.0, 8.0),
        (Linear(8, jitter=0.25), 6.0, 8.0),
        (Fixed(8, jitter=0.5), 4.0, 8.0),
    ],
)
def test_jitter_takes_a_share_away(policy: Policy, low: float, high: float) -> None:
    assert (policy.delay(1, uniform=lowest), policy.delay(1, uniform=highest)) == (low, high)
    assert len({policy.delay(1) for _ in range(20)}) > 1


def test_a_policy_of_one_s_own_is_capped_too() -> None:
    class Forever(Policy):
        jitter = 0.0

        def full(self, attempt: int) -> float:
            return 1e300

    assert Forever().delay(1) == MAX_DELAY


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Exponential(base=-1), "Exponential: base must be a number from 0 to 3153600000, not -1"),
        (lambda: Exponential(factor=0.5), "Exponential: factor must be a number from 1 to"),
        (lambda: Exponential(jitter=2), "Exponential: jitter must be a number from 0 to 1, not 2"),
        (lambda: Exponential(cap=float("inf")), "not inf"),
        (lambda: Linear("3"), "Linear: step must be a number from 0 to 3153600000, not '3'"),
        (lambda: Fixed(True), "Fixed: seconds must be a number from 0 to 3153600000, not True"),
    ],
)
def test_an_impossible_policy_is_refused(make: Callable[[], Policy], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        make()
