"""Cron entries: what is enqueued again and again, by the clock on some wall."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from ..states import Missed, Overlap


class Cron(models.Model):
    """One entry: from code (`declared`), or made in the admin.

    `last_tick` only grows, and is written in the statement that enqueues the tick's job (rule 14).
    """

    name = models.TextField(primary_key=True)
    expression = models.TextField()
    zone = models.TextField(default="UTC")
    task = models.TextField(help_text="Dotted path of the task function.")
    args = models.JSONField(default=list, blank=True)
    kwargs = models.JSONField(default=dict, blank=True)
    queue = models.TextField(null=True, blank=True, help_text="Empty: the task's own.")
    enabled = models.BooleanField(default=True)
    declared = models.BooleanField(default=False, help_text="Whether it stands in the code.")
    missed = models.TextField(choices=[(policy.value, policy.value) for policy in Missed], default=Missed.LATEST.value)
    max_missed = models.IntegerField(default=100)
    overlap = models.TextField(
        choices=[(policy.value, policy.value) for policy in Overlap], default=Overlap.ALLOW.value
    )
    jitter_seconds = models.FloatField(default=0.0)
    last_tick = models.DateTimeField(null=True)
    last_job_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "conveyor"
        verbose_name = "cron entry"
        verbose_name_plural = "cron entries"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(missed__in=[policy.value for policy in Missed])
                & Q(overlap__in=[policy.value for policy in Overlap])
                & Q(max_missed__gte=1, jitter_seconds__gte=0),
                name="conveyor_cron_policies",
            ),
        ]

    def __str__(self) -> str:
        return self.name
