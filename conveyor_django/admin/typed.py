"""Filters whose value may also be typed: what they have in common, a task, and when jobs were enqueued or ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from django.contrib import admin, messages
from django.db import connections

from ..models import Job
from ..states import TERMINAL
from .periods import CHOICES, PLACEHOLDER, Period, parse_period
from .places import alias_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet
    from django.http import HttpRequest

# What ANALYZE has seen most of. Costs no look at the jobs, and is a suggestion only.
_COMMON_TASKS: Final = """
SELECT most_common_vals::text::text[] FROM pg_stats
WHERE tablename = %s AND attname = 'task' AND schemaname = ANY (current_schemas(false))
"""


class TypedFilter(admin.SimpleListFilter):
    """A filter with a text field above its choices; what is typed is a parameter of the URL like any other."""

    template = "admin/conveyor/typed_filter.html"
    placeholder: ClassVar[str] = ""
    # What has to be said of the choices, if anything.
    note: str = ""
    # The other parameters of the list, which the field's form sends along.
    kept: tuple[tuple[str, str], ...] = ()

    def has_output(self) -> bool:
        """Show the field also where there is nothing to choose from."""
        return True

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Offer the choices."""
        self.kept = tuple((name, value) for name, value in changelist.params.items() if name != self.parameter_name)
        return super().choices(changelist)


class TaskFilter(TypedFilter):
    """Jobs of one task; offered are those that the database's statistics know."""

    title = "task"
    parameter_name = "task"
    placeholder = "shop.tasks.charge"
    note = "Any task's whole path finds it. Listed are only those that the database's statistics know."

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        """Offer the common ones, by name."""
        return [(task, task) for task in common_tasks(alias_of(request))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002
        """Narrow the list down to a task by its whole path."""
        task = (self.value() or "").strip()
        if not task:
            return queryset
        # What PostgreSQL cannot store, it cannot look for.
        return queryset.none() if "\x00" in task else queryset.filter(task=task)


class PeriodFilter(TypedFilter):
    """Jobs of a span of time."""

    placeholder = PLACEHOLDER

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        """Offer the last hour, day and week."""
        return list(CHOICES)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow the list down; to nothing, and say why, where the value is no span of time."""
        if not self.value():
            return queryset
        try:
            return self.narrowed(queryset, parse_period(str(self.value())))
        except ValueError as error:
            messages.error(request, str(error))
            return queryset.none()

    def narrowed(self, queryset: QuerySet[Any], period: Period) -> QuerySet[Any]:
        """Return the jobs of that period."""
        raise NotImplementedError


class EnqueuedFilter(PeriodFilter):
    """Jobs by when they were enqueued."""

    title = "time enqueued"
    parameter_name = "enqueued"

    def narrowed(self, queryset: QuerySet[Any], period: Period) -> QuerySet[Any]:
        """Narrow the list down."""
        return _between(queryset, "created_at", period)


class EndedFilter(PeriodFilter):
    """Jobs by when they ended."""

    title = "time ended"
    parameter_name = "ended"

    def narrowed(self, queryset: QuerySet[Any], period: Period) -> QuerySet[Any]:
        """Narrow the list down."""
        # The states are those of the index on finished_at.
        return _between(queryset.filter(state__in=sorted(TERMINAL)), "finished_at", period)


def common_tasks(alias: str) -> list[str]:
    """Return the tasks that the statistics of a database know, by name; none before the first ANALYZE."""
    with connections[alias].cursor() as cursor:
        cursor.execute(_COMMON_TASKS, (Job._meta.db_table,))  # noqa: SLF001 - public, despite its name
        row = cursor.fetchone()
    return sorted(row[0]) if row and row[0] else []


def _between(queryset: QuerySet[Any], field: str, period: Period) -> QuerySet[Any]:
    if period.start is not None:
        queryset = queryset.filter(**{f"{field}__gte": period.start})
    if period.end is not None:
        queryset = queryset.filter(**{f"{field}__lt": period.end})
    return queryset
