"""Queues: their settings, to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator

from ..conf import MAX_EXACT_CAP, MAX_INTEGER, MAX_QUEUE_LENGTH
from ..models import Queue
from ..models.queue import MAX_LEASE, MAX_RETENTION, MIN_LEASE
from .base import ConveyorAdmin, ConveyorForm

if TYPE_CHECKING:
    from django.http import HttpRequest


def _cap(most: int, help_text: str) -> forms.IntegerField:
    return forms.IntegerField(
        required=False,
        validators=[
            MinValueValidator(1, "A cap is 1 or more. Tick paused to let nothing run."),
            MaxValueValidator(most, f"Use {most} or less."),
        ],
        help_text=help_text,
    )


class QueueForm(ConveyorForm):
    """A queue's settings, with errors that say what would be right."""

    name = forms.CharField(
        max_length=MAX_QUEUE_LENGTH,
        help_text="As in TASKS and @task(queue_name=…).",
    )
    lease_seconds = forms.FloatField(
        required=False,
        validators=[
            MinValueValidator(MIN_LEASE, "A lease shorter than 1 second lapses under running jobs. Use 1 or more."),
            MaxValueValidator(MAX_LEASE, "A lost job would wait for more than a day. Use 86400 or less."),
        ],
        help_text="How long a claim holds unless renewed. Empty: CONVEYOR['LEASE_SECONDS'].",
    )
    retention_seconds = forms.FloatField(
        required=False,
        validators=[
            MinValueValidator(0.0, "A retention cannot be negative. Use 0 to delete ended jobs at once."),
            MaxValueValidator(MAX_RETENTION, "Use at most 100 years (3153600000 seconds)."),
        ],
        help_text="How long succeeded and cancelled jobs are kept. Empty: CONVEYOR['RETENTION_SECONDS'].",
    )

    soft_cap = _cap(MAX_INTEGER, "About how many of its jobs run at once: counted without a lock. Empty: no cap.")
    exact_cap = _cap(MAX_EXACT_CAP, "How many of its jobs run at once, never more. Empty: no cap.")
    key_cap = _cap(MAX_EXACT_CAP, "How many jobs of one concurrency key run at once, never more. Empty: 1.")

    class Meta:
        model = Queue
        fields = ("name", "paused", "soft_cap", "exact_cap", "key_cap", "lease_seconds", "retention_seconds")

    def clean_name(self) -> str:
        """Refuse a name that has settings already."""
        name: str = self.cleaned_data["name"]
        adding = self.instance._state.adding  # noqa: SLF001 - documented, despite its name
        if adding and Queue.objects.using(self.database).filter(name=name).exists():
            raise ValidationError(f"The queue {name!r} has settings already. Change those.")
        return name

    def validate_unique(self) -> None:
        """Leave it to `clean_name`: Django would ask the default database."""


@admin.register(Queue)
class QueueAdmin(ConveyorAdmin):
    """Settings of queues; a queue without a row has the defaults."""

    form = QueueForm
    list_display = ("name", "paused", "soft_cap", "exact_cap", "key_cap", "lease_seconds", "retention_seconds")
    ordering = ("name",)
    show_full_result_count = False

    def get_readonly_fields(self, request: HttpRequest, obj: Queue | None = None) -> tuple[str, ...]:  # noqa: ARG002
        """Keep the name of a row that exists: jobs refer to it."""
        return () if obj is None else ("name",)
