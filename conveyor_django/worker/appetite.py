"""When a worker looks for jobs: pure, on instants that it is given (monotonic seconds)."""

from __future__ import annotations

import random
from collections.abc import Callable


class Appetite:
    """Decides the time of the next look.

    At once after a look that got all it asked for; once more a window after a wake-up or a look that got less,
    since a producer notifies only the first of the jobs that it enqueues within a window; else a poll later.
    The poll never stops, so a lost notification costs at most its interval.
    """

    def __init__(
        self,
        *,
        poll: float,
        window: float,
        now: float,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._poll = poll
        # A second look later than the poll would stop the poll.
        self._window = min(window, poll)
        self._uniform = uniform
        self._look_at = now
        self._once_more = False

    def woken(self, now: float) -> None:
        """Note a wake-up: look now, and once more."""
        self._look_at = now
        self._once_more = True

    def looked(self, now: float, *, asked: int, got: int) -> None:
        """Note a look and what it got."""
        if got >= asked:
            self._look_at = now
        elif got or self._once_more:
            self._once_more = False
            self._look_at = now + self._window
        else:
            # Spread out, so that many idle workers do not look in step.
            self._look_at = now + self._uniform(0.8, 1.2) * self._poll

    def again(self, at: float) -> None:
        """Note a reason to look at that instant, or before."""
        self._look_at = min(self._look_at, at)

    def is_due(self, now: float) -> bool:
        """Say whether it is time to look."""
        return now >= self._look_at

    def seconds(self, now: float) -> float:
        """Return the seconds until the next look, 0 or more."""
        return max(0.0, self._look_at - now)
