"""Jobs: a list that never counts the table, and everything known about one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.contrib.admin.utils import display_for_value

from ..models import Attempt, Job, Ledger, Payload
from .base import LookOnly
from .filters import DatabaseFilter
from .joblist import BEFORE, FILTERS, NARROWING, JobList
from .matching import RetryMatching
from .paginator import EstimatingPaginator
from .render import NOTHING, folded, pretty_json, table
from .search import find_job_ids
from .workflows import dependants_table, needs_table, workflow_link

if TYPE_CHECKING:
    import datetime as dt

    from django.db.models import QuerySet
    from django.http import HttpRequest
    from django.utils.safestring import SafeString


@admin.register(Job)
class JobAdmin(RetryMatching, LookOnly):
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
    # "Select all" would count them; the button above the list stands for all that match.
    actions_selection_counter = False
    paginator = EstimatingPaginator
    # Half of Django's: most of the server's time goes into the rows of the table.
    list_per_page = 50
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    class Media:
        css: ClassVar = {"all": ["conveyor/actions.css"]}

    fieldsets: ClassVar = [
        (
            None,
            {
                "fields": [
                    "id", "task", "queue", "state", "priority", "idempotency_key", "concurrency_key", "parked", "args",
                    "kwargs",
                ],
            },
        ),
        (
            "Runs",
            {"fields": ["attempts_used", "lost_count", "release_count", "unsuccessful_runs", "effects"]},
        ),
        (
            "Times",
            {
                "fields": [
                    "created_at", "run_at", "started_at", "claimed_at", "finished_at", "cancel_requested_at",
                ],
            },
        ),
        ("Workflow", {"fields": ["its_workflow", "workflow_role", "its_needs", "its_dependants"]}),
        ("Lease", {"fields": ["lease_owner", "lease_version", "lease_expires_at", "ready_seq"]}),
        ("Trace", {"fields": ["traceparent", "tracestate"]}),
    ]  # fmt: skip
    readonly_fields = (
        "attempts_used", "args", "kwargs", "unsuccessful_runs", "effects", "traceparent", "tracestate",
        "its_workflow", "its_needs", "its_dependants",
    )  # fmt: skip

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[JobList]:  # noqa: ARG002
        """Return the list whose order is fixed, and whose pages are found by id."""
        return JobList

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

    @admin.display
    def args(self, job: Job) -> SafeString | None:
        """Show the positional arguments."""
        payload = _payload_of(job)
        return pretty_json(payload.args) if payload else None

    @admin.display
    def kwargs(self, job: Job) -> SafeString | None:
        """Show the keyword arguments."""
        payload = _payload_of(job)
        return pretty_json(payload.kwargs) if payload else None

    @admin.display
    def traceparent(self, job: Job) -> str | None:
        """Show the trace that the job belongs to."""
        payload = _payload_of(job)
        return payload.traceparent if payload else None

    @admin.display
    def tracestate(self, job: Job) -> str | None:
        """Show what the trace's vendors keep with it."""
        payload = _payload_of(job)
        return payload.tracestate if payload else None

    @admin.display(description="runs without success")
    def unsuccessful_runs(self, job: Job) -> SafeString | str:
        """Show how each run ended that did not succeed, the newest first."""
        attempts = Attempt.objects.using(_database_of(job)).filter(job_id=job.pk).order_by("-lease_version")
        return table(
            ["run", "ended by", "error", "started", "ended", "worker"],
            (
                (
                    attempt.number, attempt.verb, folded(_error(attempt), attempt.traceback),
                    _local(attempt.started_at), _local(attempt.finished_at), attempt.owner,
                )
                for attempt in attempts
            ),
        )  # fmt: skip

    @admin.display(description="workflow")
    def its_workflow(self, job: Job) -> SafeString | str:
        """Show the workflow that it belongs to."""
        return workflow_link(job)

    @admin.display(description="needs")
    def its_needs(self, job: Job) -> SafeString | str:
        """Show the jobs that it needs."""
        return needs_table(job)

    @admin.display(description="is needed by")
    def its_dependants(self, job: Job) -> SafeString | str:
        """Show the jobs that need it."""
        return dependants_table(job)

    @admin.display(description="ledger")
    def effects(self, job: Job) -> SafeString | str:
        """Show the effects that have committed."""
        rows = Ledger.objects.using(_database_of(job)).filter(job_id=job.pk).order_by("committed_at")
        return table(
            ["step", "result", "committed", "lease version", "worker"],
            (
                (
                    row.step or "(success)", pretty_json(row.result), _local(row.committed_at),
                    row.lease_version, row.owner,
                )
                for row in rows
            ),
        )  # fmt: skip


def _database_of(job: Job) -> str | None:
    return job._state.db  # noqa: SLF001 - documented, despite its name


def _payload_of(job: Job) -> Payload | None:
    """Return what the job was enqueued with; the first call reads it, the others have it."""
    # Where the row is missing, the descriptor raises an AttributeError.
    return getattr(job, "payload", None)


def _error(attempt: Attempt) -> str:
    return ": ".join(part for part in (attempt.error_class, attempt.message) if part)


def _local(instant: dt.datetime) -> str:
    return display_for_value(instant, NOTHING)
