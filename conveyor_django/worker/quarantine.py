"""Jobs that were lost before: each runs without neighbours, so that a job that kills its process kills no other's run.

Design rule 5. Nothing is claimed while one waits or runs.
"""

from __future__ import annotations

from collections import deque

from .inflight import Held


class Quarantine:
    """The suspects that a worker process holds: at most one runs, and alone."""

    def __init__(self) -> None:
        self._waiting: deque[Held] = deque()
        self._alone: Held | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def bars_claims(self) -> bool:
        """Whether nothing may be claimed beside them."""
        return bool(self._waiting) or self._alone is not None

    def admits(self, held: Held) -> bool:
        """Keep the job if it was lost before; say whether it was."""
        if not held.claimed.lost_count:
            return False
        self._waiting.append(held)
        return True

    def next(self, in_flight: int) -> Held | None:
        """Return the job to run alone now, if none runs: `in_flight` counts the waiting ones too."""
        if self._waiting and in_flight == len(self._waiting):
            self._alone = self._waiting.popleft()
            return self._alone
        return None

    def forget(self, held: Held) -> None:
        """Let go of a job that has ended or was given back."""
        if self._alone is held:
            self._alone = None
        elif held in self._waiting:
            self._waiting.remove(held)
