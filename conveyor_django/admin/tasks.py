"""Paused tasks: a row pauses a task, its deletion lets it go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.utils import timezone

from ..errors import UnknownTask
from ..models import PausedTask
from ..queues import resume_task
from ..registry import resolve_task
from .base import ConveyorAdmin, ConveyorForm

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest


class PausedTaskForm(ConveyorForm):
    """The path of a task to pause."""

    task = forms.CharField(help_text="Dotted path of the task, as the list of jobs shows it.")

    class Meta:
        model = PausedTask
        fields = ("task",)

    def clean_task(self) -> str:
        """Refuse what names no task: a pause with a slip in it pauses nothing."""
        path: str = self.cleaned_data["task"]
        try:
            resolve_task(path)
        except UnknownTask as error:
            raise ValidationError(f"{path!r} is no task: {error.reason}.") from error
        if PausedTask.objects.using(self.database).filter(task=path).exists():
            raise ValidationError(f"{path!r} is paused already.")
        return path

    def validate_unique(self) -> None:
        """Leave it to `clean_task`: Django would ask the default database."""


@admin.register(PausedTask)
class PausedTaskAdmin(ConveyorAdmin):
    """Tasks of which nothing is claimed; to go on with one, delete it here."""

    form = PausedTaskForm
    list_display = ("task", "paused_at")
    ordering = ("task",)
    show_full_result_count = False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Refuse: there is nothing to change."""
        return False

    def save_model(self, request: HttpRequest, obj: PausedTask, form: Any, change: bool) -> None:
        """Pause the task."""
        obj.paused_at = timezone.now()
        super().save_model(request, obj, form, change)

    def delete_model(self, request: HttpRequest, obj: PausedTask) -> None:
        """Let the task go on."""
        # First, since only what is paused can be resumed where the code is gone.
        resume_task(obj.task)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[PausedTask]) -> None:
        """Let these tasks go on."""
        for paused in list(queryset):
            self.delete_model(request, paused)
