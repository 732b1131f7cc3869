"""Jobs: a list that never counts the table; the page of one of them is in `jobpage.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin

from ..conf import is_queue_name
from ..models import Job, Queue
from .filters import DatabaseFilter, QueueFilter
from .joblist import BEFORE, FILTERS, NARROWING, JobList
from .jobpage import JobPage
from .matching import RetryMatching
from .paginator import EstimatingPaginator
from .search import find_job_ids

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse


@admin.register(Job)
class JobAdmin(RetryMatching, JobPage):
    """Jobs, to look at, and to press buttons of."""

    list_display = (
        "id", "state", "queue", "task", "priority", "attempts_used", "lost_count", "created_at", "run_at",
        "finished_at",
    )  # fmt: skip
    list_filter = FILTERS
    # Names the search box; `get_search_results` searches.
    search_fields = ("id", "idempotency_key")
    search_help_text = "A job's id, its idempotency key, or a trace id, in full."
    ordering = ("-id",)
    sortable_by = ()
    paginator = EstimatingPaginator
    # Half of Django's: most of the server's time goes into the rows of the table.
    list_per_page = 50
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    class Media:
        css: ClassVar = {"all": ["conveyor/actions.css"]}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[JobList]:  # noqa: ARG002
        """Return the list whose order is fixed, and whose pages are found by id."""
        return JobList

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Say of a list of one queue's jobs whether that queue is paused, with the button of the queue's own pages."""
        response = super().changelist_view(request, *args, **kwargs)
        context = getattr(response, "context_data", None)
        if context is not None and "cl" in context:
            name = context["cl"].params.get(QueueFilter.parameter_name)
            if is_queue_name(name):
                queues: Any = self.admin_site.get_model_admin(Queue)
                context["conveyor_queue"] = queues.beside_jobs(request, context["cl"], name)
        return response

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:  # noqa: ARG002
        """Refuse every filter by URL but those that are offered: it could look through all jobs."""
        return lookup in {DatabaseFilter.parameter_name, BEFORE, *NARROWING}

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002
        queryset: QuerySet[Any],
        search_term: str,
    ) -> tuple[QuerySet[Any], bool]:
        """Find jobs by id, key or trace, by index."""
        if term := search_term.strip():
            queryset = queryset.filter(pk__in=find_job_ids(term, alias=queryset.db))
        return queryset, False

    @admin.display(description="attempts")
    def attempts_used(self, job: Job) -> str:
        """Show the retry budget used, of the whole."""
        return f"{job.attempt}/{job.max_attempts}"
