"""Outcomes on their way to the database: each stays until it is answered, whatever happens to the connection."""

from __future__ import annotations

from typing import Final

from ..outcomes import Token
from ..retry import exponential_delay
from .runs import Finished

# At most so many outcomes go into one flush.
BATCH: Final = 500


class Outbox:
    """The ends of runs that the database has not answered for; on instants that it is given (monotonic seconds)."""

    def __init__(self) -> None:
        self._pending: dict[Token, Finished] = {}
        # Rows that somebody else has locked: (tries, not before).
        self._busy: dict[Token, tuple[int, float]] = {}

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, finished: Finished) -> None:
        """Take an outcome; the first one of a run counts."""
        self._pending.setdefault(finished.held.token, finished)

    def due(self, now: float) -> list[Finished]:
        """Return the outcomes to write now, in id order."""
        due = [f for t, f in self._pending.items() if t not in self._busy or self._busy[t][1] <= now]
        return sorted(due[:BATCH], key=lambda finished: finished.outcome.id)

    def answered(self, finished: Finished) -> None:
        """Forget an outcome: the database has said won or lost."""
        token = finished.held.token
        del self._pending[token]
        self._busy.pop(token, None)

    def busy(self, finished: Finished, now: float) -> None:
        """Keep an outcome for later: its row is locked. Everyday, so silent; the wait grows."""
        token = finished.held.token
        tries = self._busy.get(token, (0, 0.0))[0] + 1
        self._busy[token] = (tries, now + exponential_delay(tries, base=0.002, cap=0.2))

    def seconds(self, now: float) -> float | None:
        """Return the seconds until the next outcome is due, or None if there is none."""
        if len(self._pending) > len(self._busy):
            return 0.0
        return min((max(0.0, not_before - now) for _, not_before in self._busy.values()), default=None)
