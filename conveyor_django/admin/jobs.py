"""Jobs: a list that never counts the table; the page of one of them is in `jobpage.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin

from ..models import Job
from .filters import DatabaseFilter, QueueFilter, StateFilter
from .jobpage import JobPage
from .paginator import EstimatingPaginator
from .places import LinkingList
from .search import find_job_ids

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest


class NewestFirst(LinkingList):
    """A list in the one order that an index serves, whatever the URL asks for."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:  # noqa: ARG002
        """Order by id, the newest first."""
        return ["-id"]


@admin.register(Job)
class JobAdmin(JobPage):
    """Jobs, to look at."""

    list_display = (
        "id", "state", "queue", "task", "priority", "attempts_used", "lost_count", "created_at", "run_at",
        "finished_at",
    )  # fmt: skip
    list_filter = (StateFilter, QueueFilter)
    # Names the search box; `get_search_results` searches.
    search_fields = ("id", "idempotency_key")
    search_help_text = "A job's id or its idempotency key, in full."
    ordering = ("-id",)
    sortable_by = ()
    actions = None
    paginator = EstimatingPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[NewestFirst]:  # noqa: ARG002
        """Return the list whose order is fixed."""
        return NewestFirst

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:  # noqa: ARG002
        """Refuse every filter by URL but those that are offered: it could look through all jobs."""
        return lookup in {DatabaseFilter.parameter_name, StateFilter.parameter_name, QueueFilter.parameter_name}

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002
        queryset: QuerySet[Any],
        search_term: str,
    ) -> tuple[QuerySet[Any], bool]:
        """Find jobs by id or key, by index."""
        if term := search_term.strip():
            queryset = queryset.filter(pk__in=find_job_ids(term, alias=queryset.db))
        return queryset, False

    @admin.display(description="attempts")
    def attempts_used(self, job: Job) -> str:
        """Show the retry budget used, of the whole."""
        return f"{job.attempt}/{job.max_attempts}"
