"""Queries over the ledger; its rows are written by the fenced statements on jobs alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import models


class LedgerManager(models.Manager[Any]):
    """Reads of the ledger."""

    def successes_of(self, job_ids: Iterable[int]) -> dict[int, Any]:
        """Return the row that `succeed` wrote, by job, of those that have one."""
        return {row.job_id: row for row in self.filter(job_id__in=list(job_ids), step="")}

    def steps_of(self, job_id: int) -> dict[str, Any]:
        """Return the recorded results of the job's durable steps, by name."""
        return dict(self.filter(job_id=job_id).exclude(step="").values_list("step", "result"))
