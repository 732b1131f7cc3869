"""Statements that stand behind caps and pauses: the places of caps, and what had to make way for others."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from .base import Connection, StatementManager
from .exchange import PARK

# A concurrency key in its queue.
Key = tuple[str, str]


class LimitStatements(StatementManager):
    """The statements on permits and on parked jobs."""

    def make_permits(
        self,
        caps: Sequence[tuple[str, str, int]],
        *,
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> int:
        """Make the places of exact caps, each (queue, key, cap), where they are missing; return how many were made."""
        params = {
            "queues": [queue for queue, _, _ in caps], "keys": [key for _, key, _ in caps],
            "caps": [cap for _, _, cap in caps], "now": now,
        }  # fmt: skip
        return len(self.rows("make_permits", params, on))

    def prune_permits(
        self, *, limit: int, idle: float, now: dt.datetime | None = None, on: Connection | None = None
    ) -> int:
        """Delete up to `limit` free permits that nobody has taken for `idle` seconds; return how many went."""
        return len(self.rows("prune_permits", {"limit": limit, "idle": float(idle), "now": now}, on))

    def unpark_jobs(self, keys: Sequence[Key], *, on: Connection | None = None) -> dict[int, str]:
        """Put the next jobs of each (queue, key) back in line, as far as permits are free; return {id: queue}."""
        params = {"queues": [queue for queue, _ in keys], "keys": [key for _, key in keys], "park": PARK}
        return dict(self.rows("unpark_jobs", params, on))

    def unpark_tasks(self, *, limit: int, on: Connection | None = None) -> dict[int, str]:
        """Put up to `limit` jobs back in line whose task is not paused any more; return {id: queue}."""
        return dict(self.rows("unpark_tasks", {"limit": limit}, on))

    def list_parked_keys(self, *, limit: int, after: Key = ("", ""), on: Connection | None = None) -> list[Key]:
        """Return up to `limit` of the (queue, key) that have parked jobs, in order, from the one behind `after` on."""
        params = {"limit": limit, "after_queue": after[0], "after_key": after[1]}
        return self.rows("list_parked_keys", params, on)
