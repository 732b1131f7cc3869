"""Workflows: a list, and the jobs of one of them; and what a job's page says of the jobs around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.contrib import admin
from django.utils.html import format_html

from ..models import Dependency, Job, Workflow
from .base import LookOnly
from .paginator import EstimatingPaginator
from .places import page_of
from .render import NOTHING, table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import Model, QuerySet
    from django.utils.safestring import SafeString

# Rows that a page shows; a workflow may have thousands.
SHOWN: Final = 200


@admin.register(Workflow)
class WorkflowAdmin(LookOnly):
    """Workflows, to look at."""

    list_display = ("id", "name", "created_at", "finished_at")
    fields = ("id", "name", "created_at", "finished_at", "its_jobs", "its_callbacks")
    readonly_fields = ("its_jobs", "its_callbacks")
    ordering = ("-id",)
    sortable_by = ()
    actions = None
    paginator = EstimatingPaginator
    show_full_result_count = False

    @admin.display(description="jobs")
    def its_jobs(self, workflow: Workflow) -> SafeString | str:
        """Show the jobs, in the order in which they were added."""
        return _table(_jobs_of(workflow).filter(workflow_role=None))

    @admin.display(description="callbacks")
    def its_callbacks(self, workflow: Workflow) -> SafeString | str:
        """Show the callbacks."""
        return _table(_jobs_of(workflow).exclude(workflow_role=None))


def workflow_link(job: Job) -> SafeString | str:
    """Return a link to the job's workflow; a dash where it has none."""
    if job.workflow_id is None:
        return NOTHING
    workflow = Workflow.objects.using(database_of(job)).filter(pk=job.workflow_id).first()
    return _link(workflow, workflow.name or str(workflow.pk)) if workflow else NOTHING


def needs_table(job: Job) -> SafeString | str:
    """Return the jobs that this one needs."""
    if job.workflow_id is None:
        return NOTHING
    edges = Dependency.objects.using(database_of(job)).filter(job_id=job.pk).order_by("needs_id")
    return _edges(edges, "needs_id")


def dependants_table(job: Job) -> SafeString | str:
    """Return the jobs that need this one."""
    if job.workflow_id is None:
        return NOTHING
    edges = Dependency.objects.using(database_of(job)).filter(needs_id=job.pk).order_by("job_id")
    return _edges(edges, "job_id")


def database_of(row: Model) -> str | None:
    """Return the alias of the database that a row was read from."""
    return row._state.db  # noqa: SLF001 - documented, despite its name


def _jobs_of(workflow: Workflow) -> QuerySet[Any]:
    jobs = Job.objects.using(database_of(workflow)).filter(workflow_id=workflow.pk)
    return jobs.select_related("payload").order_by("pk")


def _table(jobs: QuerySet[Any]) -> SafeString | str:
    rows = [_row(job) for job in jobs[: SHOWN + 1]]
    return _bounded(["job", "name", "task", "state", "waits for"], rows)


def _row(job: Job) -> tuple[Any, ...]:
    waits_for = job.pending_dependencies if job.state == "blocked" else None
    return (_link(job, str(job.pk)), job.workflow_role or _name(job), job.task, job.state, waits_for)


def _edges(edges: QuerySet[Any], end: str) -> SafeString | str:
    shown = list(edges[: SHOWN + 1])
    jobs = Job.objects.using(edges.db).select_related("payload").in_bulk([getattr(edge, end) for edge in shown])
    rows = []
    for edge in shown:
        job = jobs.get(getattr(edge, end))
        known = (_link(job, str(job.pk)), _name(job), job.state) if job else (getattr(edge, end), None, "gone")
        rows.append((*known, edge.on_failure, "yes" if edge.resolved else "no"))
    return _bounded(["job", "name", "state", "if it fails", "resolved"], rows)


def _bounded(headings: list[str], rows: Iterable[tuple[Any, ...]]) -> SafeString | str:
    listed = list(rows)
    if len(listed) > SHOWN:
        listed[SHOWN:] = [("…", *[None] * (len(headings) - 1))]
    return table(headings, listed)


def _name(job: Job) -> str | None:
    payload = getattr(job, "payload", None)
    return payload.name if payload else None


def _link(row: Model, text: str) -> SafeString:
    return format_html('<a href="{}">{}</a>', page_of(row), text)
