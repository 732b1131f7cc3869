"""Statements about the tokens of the HTTP API."""

from __future__ import annotations

import datetime as dt

from .base import Connection, StatementManager


class ApiTokenManager(StatementManager):
    """Statements on the table of tokens."""

    def pace_token(
        self,
        token_id: int,
        *,
        requests: int,
        seconds: float,
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> float:
        """Charge a token for one of `requests` that it may make in so many seconds.

        Returns 0 where that was in its rate; else nothing was charged, and it is the seconds until it would be.
        """
        params = {"id": token_id, "requests": requests, "seconds": seconds, "now": now}
        rows = self.rows("pace_token", params, on)
        return float(rows[0][0]) if rows else 0.0
