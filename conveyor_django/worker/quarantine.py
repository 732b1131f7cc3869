"""Jobs that were lost before: each runs without neighbours, so that a job that kills its process kills no other's run.

Design rule 5. Nothing is claimed while one waits or runs; one whose neighbours do not end is given back.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from .inflight import Held

# How long a process stops claiming for a suspect's sake: then another process, or a later time, may suit it better.
PATIENCE_SECONDS: Final = 5.0


class Quarantine:
    """The suspects that a worker process holds: at most one runs, and alone."""

    def __init__(self) -> None:
        # (job, since when)
        self._waiting: deque[tuple[Held, float]] = deque()
        self._alone: Held | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def bars_claims(self) -> bool:
        """Whether nothing may be claimed beside them."""
        return bool(self._waiting) or self._alone is not None

    def admits(self, held: Held, now: float) -> bool:
        """Keep the job if it was lost before; say whether it was."""
        if not held.claimed.lost_count:
            return False
        self._waiting.append((held, now))
        return True

    def next(self, in_flight: int) -> Held | None:
        """Return the job to run alone now, if none runs: `in_flight` counts the waiting ones too."""
        if self._alone is None and self._waiting and in_flight == len(self._waiting):
            self._alone, _ = self._waiting.popleft()
            return self._alone
        return None

    def impatient(self, now: float) -> list[Held]:
        """Return the jobs that have waited long enough for their neighbours to end; none while one runs alone."""
        if self._alone is not None:
            return []
        return [held for held, since in self._waiting if now - since > PATIENCE_SECONDS]

    def seconds(self, now: float) -> float | None:
        """Return the seconds until one becomes impatient, or None."""
        if self._alone is not None or not self._waiting:
            return None
        return max(0.0, self._waiting[0][1] + PATIENCE_SECONDS - now) + 0.001

    def forget(self, held: Held) -> None:
        """Let go of a job that has ended or was given back."""
        if self._alone is held:
            self._alone = None
        if self._waiting:
            self._waiting = deque(waiting for waiting in self._waiting if waiting[0] is not held)
