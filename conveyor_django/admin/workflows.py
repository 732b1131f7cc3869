"""Workflows: a list, and the page of one of them with its graph and its jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin

from ..models import Workflow
from .base import LookOnly
from .graph import read_picture
from .paginator import EstimatingPaginator
from .relations import SHOWN, Listing, read_members
from .rows import alias_of

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@admin.register(Workflow)
class WorkflowAdmin(LookOnly):
    """Workflows, to look at."""

    list_display = ("id", "name", "created_at", "finished_at")
    ordering = ("-id",)
    sortable_by = ()
    actions = None
    paginator = EstimatingPaginator
    show_full_result_count = False
    change_form_template = "conveyor/admin/workflow.html"
    # Nothing of the page is a form's field.
    fieldsets: ClassVar[Any] = [(None, {"fields": []})]

    class Media:
        css: ClassVar = {"all": ["conveyor/job.css"]}

    def render_change_form(  # noqa: PLR0917 - Django's own
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Workflow | None = None,
    ) -> HttpResponse:
        """Give the template what it shows."""
        if obj is not None:
            context |= page_context(obj)
        return super().render_change_form(request, context, add, change, form_url, obj)


def page_context(workflow: Workflow) -> dict[str, Any]:
    """Read everything that a workflow's page shows. The number of queries is the same for any number of jobs."""
    alias = alias_of(workflow)
    members = read_members(alias, workflow.pk)
    return {
        "workflow": workflow,
        "members": Listing(rows=members[:SHOWN], has_more=len(members) > SHOWN),
        "picture": read_picture(alias, workflow.pk, members),
    }
