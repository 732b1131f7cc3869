"""Permits: what holds the exact caps."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Permit(models.Model):
    """One of the places of an exact cap: of a queue (`key` is ""), or of a concurrency key in it.

    It is taken by the claim of a job and names that run. It is free as soon as that run has ended, in whatever way:
    no statement gives it back, so none can forget to (rule 11).
    """

    id = models.BigAutoField(primary_key=True)
    queue = models.TextField()
    key = models.TextField()
    number = models.IntegerField(help_text="From 1 to the cap.")
    job_id = models.BigIntegerField(default=0)
    lease_version = models.BigIntegerField(default=0)
    taken_at = models.DateTimeField()

    class Meta:
        app_label = "conveyor"
        constraints: ClassVar = [
            # claim_jobs and unpark_jobs look a cap's places up by it.
            models.UniqueConstraint(fields=["queue", "key", "number"], name="conveyor_permit_place"),
        ]

    def __str__(self) -> str:
        return f"permit {self.number} of queue {self.queue!r}, key {self.key!r}"


class PausedTask(models.Model):
    """A task of which nothing is claimed, in any queue, while this row is here."""

    task = models.TextField(primary_key=True)
    paused_at = models.DateTimeField()

    class Meta:
        app_label = "conveyor"

    def __str__(self) -> str:
        return self.task
