"""Workflows: a list, and the page of one of them with its graph and its jobs."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

from ..models import Workflow
from .drawn import DrawnPage
from .graph import read_picture
from .paginator import EstimatingPaginator
from .relations import SHOWN, Listing, read_members
from .rows import alias_of


@admin.register(Workflow)
class WorkflowAdmin(DrawnPage):
    """Workflows, to look at."""

    list_display = ("id", "name", "created_at", "finished_at")
    ordering = ("-id",)
    sortable_by = ()
    actions = None
    paginator = EstimatingPaginator
    show_full_result_count = False
    change_form_template = "conveyor/admin/workflow.html"

    def page_context(self, row: Workflow) -> dict[str, Any]:
        """Return what the template shows."""
        return page_context(row)


def page_context(workflow: Workflow) -> dict[str, Any]:
    """Read everything that a workflow's page shows. The number of queries is the same for any number of jobs."""
    alias = alias_of(workflow)
    members = read_members(alias, workflow.pk)
    return {
        "workflow": workflow,
        "members": Listing(rows=members[:SHOWN], has_more=len(members) > SHOWN),
        "picture": read_picture(alias, workflow.pk, members),
    }
