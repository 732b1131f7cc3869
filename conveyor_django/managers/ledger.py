"""Queries over the ledger; its rows are written by the outcome statements alone."""

from __future__ import annotations

from typing import Any

from django.db import models


class LedgerManager(models.Manager[Any]):
    """Reads of the ledger."""

    def success_of(self, job_id: int) -> Any | None:
        """Return the row that `succeed` wrote for the job, or None."""
        return self.filter(job_id=job_id, step="").first()
