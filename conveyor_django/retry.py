"""How long to wait before the next try: of a job, and of a lost connection."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Final

from .errors import describe

# A century: beyond it timestamps overflow before long.
MAX_DELAY: Final = 100 * 365 * 86400.0

_jitter = random.Random()  # noqa: S311 - jitter, not a secret


class Policy(ABC):
    """A backoff that needs to know nothing but the number of the attempt. Subclasses define `full`."""

    # The share of the delay, from 0 to 1, of which a random part is taken away.
    jitter: float

    @abstractmethod
    def full(self, attempt: int) -> float:
        """Return the longest delay after failed attempt number `attempt` (from 1), in seconds."""

    def delay(self, attempt: int, uniform: Callable[[float, float], float] = _jitter.uniform) -> float:
        """Return the seconds to wait after failed attempt number `attempt`, at most MAX_DELAY."""
        longest = min(self.full(max(attempt, 1)), MAX_DELAY)
        return uniform(longest * (1 - self.jitter), longest)


@dataclass(frozen=True, slots=True)
class Exponential(Policy):
    """`base` × `factor`^(attempt−1) seconds, at most `cap`; up to the share `jitter` of it is taken away at random."""

    base: float = 1.0
    cap: float = 3600.0
    factor: float = 2.0
    jitter: float = 0.5

    def __post_init__(self) -> None:
        _check(self, at_least_one="factor")

    def full(self, attempt: int) -> float:
        """Return the delay without jitter."""
        try:
            return min(self.cap, self.base * float(self.factor) ** (attempt - 1))
        except OverflowError:
            return self.cap


@dataclass(frozen=True, slots=True)
class Linear(Policy):
    """`step` × attempt seconds, at most `cap`; up to the share `jitter` of it is taken away at random."""

    step: float
    cap: float = 3600.0
    jitter: float = 0.0

    def __post_init__(self) -> None:
        _check(self)

    def full(self, attempt: int) -> float:
        """Return the delay without jitter."""
        return min(self.cap, self.step * attempt)


@dataclass(frozen=True, slots=True)
class Fixed(Policy):
    """Always `seconds`; up to the share `jitter` of it is taken away at random."""

    seconds: float
    jitter: float = 0.0

    def __post_init__(self) -> None:
        _check(self)

    def full(self, attempt: int) -> float:  # noqa: ARG002 - of a policy
        """Return the delay without jitter."""
        return self.seconds


def _check(policy: Exponential | Linear | Fixed, at_least_one: str = "") -> None:
    """Refuse impossible numbers. Raises ValueError that names policy, field and value."""
    for field in fields(policy):
        value = getattr(policy, field.name)
        least, most = (1, MAX_DELAY) if field.name == at_least_one else (0, 1 if field.name == "jitter" else MAX_DELAY)
        if not is_number(value) or not least <= value <= most:
            raise ValueError(
                f"{type(policy).__name__}: {field.name} must be a number from {least} to {most:.0f}, "
                f"not {describe(value)}."
            )


def is_number(value: Any) -> bool:
    """Say whether `value` is a finite int or float."""
    # Not math.isfinite for integers: they may be too large for a float.
    return type(value) is not bool and (isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)))


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


def growing_pauses(*, first: float = 0.01, cap: float = 0.25) -> Iterator[float]:
    """Yield seconds to pause between looks at what may take a moment or minutes, growing to `cap`, for ever."""
    pause = first
    while True:
        yield pause
        pause = min(cap, pause * 1.5)
