"""How long to wait before the next try: of a job, and of a lost connection."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

_jitter = random.Random()  # noqa: S311 - jitter, not a secret


def exponential_delay(
    attempt: int,
    *,
    base: float = 1.0,
    cap: float = 3600.0,
    uniform: Callable[[float, float], float] = _jitter.uniform,
) -> float:
    """Return the seconds to wait after failed attempt number `attempt` (from 1).

    `base` × 2^(attempt−1), at most `cap`, of which a random half is taken away, so that jobs that failed
    together don't come back together ("equal jitter", M. Brooker, "Exponential Backoff And Jitter",
    AWS Architecture Blog, 2015).
    """
    # 2.0**1023 is the last power of two that a float holds; the cap has long won by then.
    full = min(cap, base * 2.0 ** min(max(attempt, 1) - 1, 1000))
    return uniform(full / 2, full)


def reconnect_delays(*, first: float = 0.05, cap: float = 5.0) -> Iterator[float]:
    """Yield seconds to wait between tries to reach the database: none, then growing to `cap`, for ever."""
    yield 0.0
    attempt = 1
    while True:
        yield exponential_delay(attempt, base=first, cap=cap)
        attempt += 1
