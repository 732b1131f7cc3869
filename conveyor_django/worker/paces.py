"""Which tasks are quick: pure, on durations in seconds and instants on a monotonic clock that it is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# A handler is quick that takes at most so long on the average, or no longer than the transaction around it: on a busy
# machine both grow, and what a group saves grows with them.
QUICK_SECONDS: Final = 0.010
# One run that takes so many times longer than a quick one is enough to be no such task.
OUTLIER: Final = 10
# How long a task runs alone that has held up a group, or fell out with one.
ALONE_SECONDS: Final = 60.0
# Once its first job began so long ago, or as long as the transaction takes, no other job of a group begins.
GROUP_SECONDS: Final = 0.020
# However long it takes.
MOST_SECONDS: Final = 0.250
# The part that the last one has in an average.
_WEIGHT: Final = 0.125


@dataclass(slots=True)
class _Pace:
    average: float
    alone_until: float
    # When the first run had ended. What began before that made its connections and caches, and says little of the rest.
    known_since: float
    # The average is that of such a run.
    is_provisional: bool = True


class Paces:
    """How long handlers of each task, and transactions around them, take in this process. Any thread may use it."""

    def __init__(self) -> None:
        self._paces: dict[str, _Pace] = {}
        self._transaction = 0.0

    def note(self, task: str, seconds: float, now: float) -> None:
        """Note how long a handler took that ends now."""
        pace = self._paces.get(task)
        if pace is None:
            self._paces[task] = _Pace(average=seconds, alone_until=now, known_since=now)
            return
        if now - seconds < pace.known_since:
            return
        pace.average += (seconds - pace.average) * (1.0 if pace.is_provisional else _WEIGHT)
        pace.is_provisional = False
        if seconds > OUTLIER * self._quick:
            pace.alone_until = now + ALONE_SECONDS

    def note_transaction(self, seconds: float) -> None:
        """Note how long a transaction took, without its handlers."""
        self._transaction += (seconds - self._transaction) * (_WEIGHT if self._transaction else 1.0)

    def keep_alone(self, task: str, now: float) -> None:
        """Have a task run alone for a while."""
        pace = self._paces.setdefault(task, _Pace(average=0.0, alone_until=now, known_since=now))
        pace.alone_until = now + ALONE_SECONDS

    def is_quick(self, task: str, now: float) -> bool:
        """Say whether its runs are known to be short; one that was never seen is not."""
        pace = self._paces.get(task)
        return pace is not None and pace.average <= self._quick and now >= pace.alone_until

    @property
    def group_seconds(self) -> float:
        """How long a group goes on to begin jobs."""
        return min(max(GROUP_SECONDS, self._transaction), MOST_SECONDS)

    @property
    def _quick(self) -> float:
        return max(QUICK_SECONDS, self._transaction)
