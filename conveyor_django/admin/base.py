"""What the pages have in common: the database where jobs live, and looking without touching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin

from ..conf import conveyor_settings

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest

    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin


class ConveyorAdmin(_ModelAdmin):
    """Pages about a table of CONVEYOR["DATABASE"], whatever the project's routers say."""

    @property
    def alias(self) -> str:
        """The database where jobs live."""
        return conveyor_settings().database

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows of that database."""
        return super().get_queryset(request).using(self.alias)


class LookOnly(ConveyorAdmin):
    """Pages that show and never change: rows are written by Conveyor's statements alone."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Refuse."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Refuse."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Refuse."""
        return False
