"""Pages that a template draws from what was read for it: nothing on them is a form's field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from .base import LookOnly

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


class DrawnPage(LookOnly):
    """A row's page by `change_form_template`. A subclass has that, and `page_context`."""

    # Without them Django would read every column for a field of its own.
    fieldsets: ClassVar[Any] = [(None, {"fields": []})]

    class Media:
        css: ClassVar = {"all": ["conveyor/job.css"]}

    def page_context(self, row: Any) -> dict[str, Any]:
        """Return what the template shows of a row."""
        raise NotImplementedError

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Give the template what it shows."""
        row = kwargs.get("obj")
        if row is not None:
            context |= self.page_context(row)
        return super().render_change_form(request, context, *args, **kwargs)
