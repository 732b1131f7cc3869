"""The ledger: which effects have committed."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from ..managers.ledger import LedgerManager


class Ledger(models.Model):
    """One committed effect of a job: at most one per (job, step), whatever happens to the job's row (P2).

    Step ``""`` is written by `succeed` alone and holds the job's result. Append-only: a trigger refuses
    every UPDATE, and every DELETE that is not `prune_jobs`.
    """

    pk = models.CompositePrimaryKey("job_id", "step")
    # No constraint in the database: its check would lock the job's row once more at every outcome.
    job = models.ForeignKey("conveyor.Job", on_delete=models.DO_NOTHING, db_constraint=False,
                            db_index=False, related_name="ledger")  # fmt: skip
    step = models.TextField(default="")
    lease_version = models.BigIntegerField()
    owner = models.UUIDField()
    result = models.JSONField(null=True)
    committed_at = models.DateTimeField()

    objects: ClassVar[LedgerManager] = LedgerManager()

    class Meta:
        app_label = "conveyor"
        verbose_name_plural = "ledger"

    def __str__(self) -> str:
        return f"ledger row of job {self.job_id}, step {self.step!r}"
