"""The dashboard: everything at a glance on one page, which renews itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError
from django.template.response import TemplateResponse
from django.urls import path, reverse

from ..conf import conveyor_settings
from ..models import Dashboard, Job
from ..operate.findings import wrong_now
from ..operate.grouping import grouped
from ..operate.overview import overview
from .base import LookOnly
from .charts import bar_chart
from .dashrows import Rows, may_see
from .places import PARAMETER, alias_of

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

# Seconds between two looks of a page that is in sight.
EVERY: Final = 5


@admin.register(Dashboard)
class DashboardAdmin(LookOnly):
    """One page, for whoever may look at jobs."""

    def get_urls(self) -> list[Any]:
        """Return the page, and the part of it that the script fetches anew; there is nothing else here."""
        view = self.admin_site.admin_view
        return [
            path("", view(self.changelist_view), name="conveyor_dashboard_changelist"),
            path("live/", view(self.live_view), name="conveyor_dashboard_live"),
        ]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Ask for the permission to look at jobs."""
        return may_see(request, Job)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Ask for the same."""
        return self.has_view_permission(request)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the whole page."""
        context = {
            **self.admin_site.each_context(request),
            "title": "Dashboard",
            "opts": self.opts,
            "every": EVERY,
            "databases": _choices(request),
            "live_url": _with_database(reverse("admin:conveyor_dashboard_live"), alias_of(request)),
            **(extra_context or {}),
        }
        return self._answer(request, "conveyor/admin/dashboard.html", context)

    def live_view(self, request: HttpRequest) -> HttpResponse:
        """Show what changes."""
        return self._answer(request, "conveyor/admin/dashboard_live.html", {})

    def _answer(self, request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        alias = alias_of(request)
        try:
            found = _found(request, alias)
        except DatabaseError as error:
            # Of several databases the others can still be looked at.
            found = {"error": f"Database {alias!r} cannot be read: {str(error).strip()}"}
        return TemplateResponse(request, template, context | found, status=503 if "error" in found else 200)


def _found(request: HttpRequest, alias: str) -> dict[str, Any]:
    """Return what the page shows of a database."""
    seen = overview(alias)
    rows = Rows(request, seen)
    history = seen.history
    return {
        "overview": seen,
        "wrong": grouped(wrong_now(alias, seen)),
        "jobs": _with_database(reverse("admin:conveyor_job_changelist"), alias),
        "queues": rows.queues(),
        "workers": rows.workers(),
        "crons": rows.crons(),
        "paused_tasks": rows.paused_tasks(),
        "more": rows.more(),
        "hour": bar_chart(history.hour, name="conveyor-hour", heading="What ended in the last hour", per="minute"),
        "day": bar_chart(history.day, name="conveyor-day", heading="What ended in the last day", per="hour"),
    }


def _choices(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the databases to choose from; none where there is but one."""
    databases = conveyor_settings().databases
    chosen = alias_of(request)
    return [
        {"alias": alias, "chosen": alias == chosen, "url": f"?{urlencode({PARAMETER: alias})}"}
        for alias in databases
        if len(databases) > 1
    ]


def _with_database(url: str, alias: str) -> str:
    return url if alias == conveyor_settings().database else f"{url}?{urlencode({PARAMETER: alias})}"
