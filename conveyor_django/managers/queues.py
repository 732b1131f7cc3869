"""Statements about queues' settings."""

from __future__ import annotations

from .base import Connection, StatementManager


class QueueManager(StatementManager):
    """Statements on the table of queues."""

    def list_leases(self, *, on: Connection | None = None) -> dict[str, float]:
        """Return {queue: lease in seconds} of the queues that have one of their own."""
        return dict(self.rows("list_leases", {}, on))
