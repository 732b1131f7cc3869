"""Filters of the list of jobs whose choices cost no scan of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.contrib import admin

from ..compat import task_backends
from ..conf import conveyor_settings
from ..models import Job, Queue
from ..states import JobState
from .places import PARAMETER, alias_of
from .typed import TypedFilter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet
    from django.http import HttpRequest

# Queues to choose from: with more, a page of the list would be about little else.
OFFERED: Final = 100


class DatabaseFilter(admin.SimpleListFilter):
    """The rows of one of the databases where jobs live; one is always chosen, by the page's query set."""

    title = "database"
    parameter_name = PARAMETER

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        """Offer them all."""
        return [(alias, alias) for alias in conveyor_settings().databases]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002
        """Show nothing for a database that is none of them."""
        return queryset if self.value() in {None, queryset.db} else queryset.none()

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Offer no "All": a list is of one database."""
        chosen = self.value() or conveyor_settings().database
        for alias, title in self.lookup_choices:
            yield {
                "selected": alias == chosen,
                "query_string": changelist.get_query_string({PARAMETER: alias}),
                "display": title,
            }


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


class QueueFilter(TypedFilter):
    """Jobs of one queue; offered are those that TASKS names, that have settings, or that have ready jobs."""

    title = "queue"
    parameter_name = "queue"
    placeholder = "default"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        """Offer the first queues that can be known without looking through the jobs."""
        known = known_queues(alias_of(request))
        if len(known) > OFFERED:
            self.note = f"Any queue's whole name finds it. {len(known) - OFFERED:,} more are not listed."
        return [(queue, queue) for queue in known[:OFFERED]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002
        """Narrow the list down, also to a queue that is not offered."""
        queue = self.value()
        if not queue:
            return queryset
        # What PostgreSQL cannot store, it cannot look for.
        return queryset.none() if "\x00" in queue else queryset.filter(queue=queue)


def known_queues(alias: str) -> list[str]:
    """Return the names of the queues of a database: those in TASKS, those with settings, those with ready jobs."""
    database_of = conveyor_settings().database_of
    configured = {queue for backend in task_backends.all() for queue in backend.queues if database_of(queue) == alias}
    with_settings = Queue.objects.using(alias).values_list("name", flat=True)
    return sorted({*configured, *with_settings, *Job.objects.db_manager(alias).list_queues()})
