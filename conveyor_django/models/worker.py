"""The worker processes that are alive, as they say themselves."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from ..managers.workers import WorkerManager


class Worker(models.Model):
    """One incarnation of a worker process: a restart is another one.

    The row goes when the process ends, or when a scheduler finds it dead; a process that finds its row gone
    stops itself.
    """

    incarnation = models.UUIDField(primary_key=True)
    host = models.TextField()
    pid = models.IntegerField()
    supervisor_pid = models.IntegerField()
    queues = models.JSONField(default=list, help_text="Empty: every queue.")
    slots = models.IntegerField()
    lease_seconds = models.FloatField()
    holds_lock = models.BooleanField(help_text="Whether its session holds the advisory lock (no pooler between).")
    draining = models.BooleanField(default=False)
    drain_requested_at = models.DateTimeField(
        null=True, help_text="When somebody asked it to claim nothing more and to end; it hears that at its next beat."
    )
    started_at = models.DateTimeField()
    last_seen = models.DateTimeField()

    objects: ClassVar[WorkerManager] = WorkerManager()

    class Meta:
        app_label = "conveyor"

    def __str__(self) -> str:
        return f"worker {self.incarnation} ({self.host}, pid {self.pid})"
