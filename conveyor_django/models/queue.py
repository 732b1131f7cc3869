"""What is set per queue."""

from __future__ import annotations

from typing import ClassVar, Final

from django.db import models
from django.db.models import Q

from ..conf import MAX_EXACT_CAP
from ..managers.queues import QueueManager

# Seconds. Beyond them are intervals that PostgreSQL or a thread's wait cannot hold, and one row would stop a worker's
# other queues too; NaN is more than any of them to PostgreSQL.
MIN_LEASE: Final = 1.0
MAX_LEASE: Final = 86_400.0
MAX_RETENTION: Final = 100 * 365 * 86_400.0


class Queue(models.Model):
    """Settings of one queue; a queue without a row has the defaults. NULL means the setting's default."""

    name = models.TextField(primary_key=True)
    paused = models.BooleanField(default=False, help_text="Nothing is claimed from a paused queue.")
    soft_cap = models.IntegerField(
        null=True, blank=True, help_text="About how many of its jobs run at once: counted without a lock."
    )
    exact_cap = models.IntegerField(null=True, blank=True, help_text="How many of its jobs run at once, never more.")
    key_cap = models.IntegerField(
        null=True, blank=True, help_text="How many jobs of one concurrency key run at once, never more. Empty: 1."
    )
    lease_seconds = models.FloatField(null=True, blank=True)
    retention_seconds = models.FloatField(
        null=True, blank=True, help_text="How long succeeded and cancelled jobs are kept."
    )

    objects: ClassVar[QueueManager] = QueueManager()

    class Meta:
        app_label = "conveyor"
        permissions: ClassVar = [("pause_queue", "Can pause and resume queues")]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=(Q(soft_cap__isnull=True) | Q(soft_cap__gt=0))
                & (Q(exact_cap__isnull=True) | Q(exact_cap__gte=1, exact_cap__lte=MAX_EXACT_CAP))
                & (Q(key_cap__isnull=True) | Q(key_cap__gte=1, key_cap__lte=MAX_EXACT_CAP))
                & (Q(lease_seconds__isnull=True) | Q(lease_seconds__gte=MIN_LEASE, lease_seconds__lte=MAX_LEASE))
                & (
                    Q(retention_seconds__isnull=True)
                    | Q(retention_seconds__gte=0, retention_seconds__lte=MAX_RETENTION)
                ),
                name="conveyor_queue_limits",
            ),
        ]

    def __str__(self) -> str:
        return self.name
