"""Workers: the processes that are alive, to look at."""

from __future__ import annotations

from django.contrib import admin

from ..models import Worker
from .base import LookOnly


@admin.register(Worker)
class WorkerAdmin(LookOnly):
    """Worker processes, as they say themselves."""

    list_display = (
        "incarnation", "host", "pid", "supervisor_pid", "queue_names", "slots", "draining", "holds_lock",
        "started_at", "last_seen",
    )  # fmt: skip
    fields = (*list_display, "lease_seconds", "drain_requested_at")
    readonly_fields = ("queue_names",)
    ordering = ("-last_seen",)
    actions = None
    show_full_result_count = False

    @admin.display(description="queues")
    def queue_names(self, worker: Worker) -> str:
        """Show the queues that it takes jobs from."""
        return ", ".join(worker.queues) or "every queue"
