"""When a duty looks next."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from .duty import Look

# A look may take this part of one connection's time at most, so that an expensive one spaces itself out.
COST_FACTOR: Final = 20.0


class Pace:
    """The instants of one duty's looks, on a monotonic clock, in seconds; the first is due at once."""

    def __init__(self, *, at_least: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._at_least = at_least
        self._clock = clock
        self._earliest = self._due = clock()

    def is_due(self) -> bool:
        """Say whether it is time to look."""
        return self._clock() >= self._due

    def remaining(self) -> float:
        """Return the seconds until it is time to look, 0 when it is."""
        return max(0.0, self._due - self._clock())

    def looked(self, look: Look, *, began: float, usual: float) -> None:
        """Decide the next look after `look`, which began at `began`; `usual` is the interval without news."""
        ended = self._clock()
        if look.more:
            # A full batch took its time for work, not for looking.
            self._earliest = self._due = ended
            return
        wait = usual if look.wait is None else min(look.wait, usual)
        self._earliest = ended + max(self._at_least, COST_FACTOR * (ended - began))
        self._due = max(self._earliest, ended + wait)

    def hurry(self) -> None:
        """Look as early as the duty allows."""
        self._due = self._earliest
