"""The Django app."""

from __future__ import annotations

from django.apps import AppConfig


class ConveyorConfig(AppConfig):
    """Conveyor: app label `conveyor`, tables `conveyor_*`."""

    name = "conveyor_django"
    label = "conveyor"
    verbose_name = "Conveyor"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks: Conveyor's own, and the task framework's, which runs the backends'."""
        from . import checks, compat

        checks.register()
        compat.register_framework_checks()
