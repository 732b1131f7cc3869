"""Statements that a handler's run makes through its context, fenced by its token."""

from __future__ import annotations

import datetime as dt
import uuid

from ..outcomes import Answer, Token
from .base import Connection, StatementManager


class FencedStatements(StatementManager):
    """The statements of durable steps and of `fence()`."""

    def record_step(
        self,
        token: Token,
        step: str,
        result: str | None,
        *,
        owner: uuid.UUID,
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> tuple[Answer, str | None]:
        """Record a step's result (JSON text, None for null); return the answer, and what is recorded."""
        params = {
            "id": token[0], "version": token[1], "step": step, "result": result, "owner": owner, "now": now,
        }  # fmt: skip
        [(answer, recorded)] = self.rows("record_step", params, on)
        return Answer(answer), recorded

    def hold_fence(self, token: Token, *, owner: uuid.UUID, on: Connection | None = None) -> bool:
        """Lock the job's row against any other holder until the transaction ends; False if the lease is lost."""
        return bool(self.rows("hold_fence", {"id": token[0], "version": token[1], "owner": owner}, on))
