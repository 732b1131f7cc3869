"""The delays of retries and reconnects."""

from __future__ import annotations

from itertools import islice

import pytest

from conveyor_django.retry import exponential_delay, reconnect_delays


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
