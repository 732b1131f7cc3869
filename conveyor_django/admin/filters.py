"""Filters of the list of jobs whose choices cost no scan of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin

from ..compat import task_backends
from ..conf import conveyor_settings
from ..models import Job, Queue
from ..states import JobState

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest


class StateFilter(admin.SimpleListFilter):
    """Jobs in one state."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        """Offer every state there is."""
        return [(state.value, state.value) for state in JobState]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002
        """Narrow the list down."""
        state = self.value()
        if state is None:
            return queryset
        return queryset.filter(state=state) if state in set(JobState) else queryset.none()


class QueueFilter(admin.SimpleListFilter):
    """Jobs of one queue: of those that TASKS names, that have settings, or that have ready jobs."""

    title = "queue"
    parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        """Offer the queues that can be known without looking through the jobs."""
        return [(queue, queue) for queue in known_queues(conveyor_settings().database)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002
        """Narrow the list down, also to a queue that is not offered."""
        queue = self.value()
        if queue is None:
            return queryset
        # What PostgreSQL cannot store, it cannot look for.
        return queryset.none() if "\x00" in queue else queryset.filter(queue=queue)


def known_queues(alias: str) -> list[str]:
    """Return the names of the queues in TASKS, of those with settings and of those with ready jobs."""
    configured = {queue for backend in task_backends.all() for queue in backend.queues}
    with_settings = Queue.objects.using(alias).values_list("name", flat=True)
    return sorted({*configured, *with_settings, *Job.objects.db_manager(alias).list_queues()})
