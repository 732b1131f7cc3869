"""What the pages have in common: the database that they are about, and looking without touching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qsl

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpResponseRedirect, QueryDict

from ..conf import conveyor_settings
from .filters import DatabaseFilter
from .places import LIST_PARAMETERS, PARAMETER, LinkingList, Placed, alias_of, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse

    _ModelAdmin = admin.ModelAdmin[Any]
    _ModelForm = forms.ModelForm[Any]
else:
    _ModelAdmin = admin.ModelAdmin
    _ModelForm = forms.ModelForm


class ConveyorForm(_ModelForm):
    """A form about a row of one database: `database`, which ConveyorAdmin sets for each request."""

    database: ClassVar[str] = "default"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Django checks the model's constraints on the instance's database.
        self.instance._state.db = self.database  # noqa: SLF001 - documented, despite its name


class ConveyorAdmin(_ModelAdmin):
    """Pages about a table of the databases where jobs live, whatever the project's routers say.

    Where there are several, lists offer a choice, links keep it, and what is saved goes to the row's own.
    """

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows of the database that the request is about."""
        return super().get_queryset(request).using(alias_of(request))

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return the row that a URL names, with or without its database; None where there is none."""
        key = place_of(object_id)[1]
        # What PostgreSQL cannot store, it cannot look for.
        return None if "\x00" in key else super().get_object(request, key, from_field)

    # -- what is written ---------------------------------------------------------------------------------------

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Tell the form its database."""
        form: Any = super().get_form(request, obj, change, **kwargs)
        form.database = alias_of(request)
        return form

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer rows of the same database."""
        return super().formfield_for_foreignkey(db_field, request, **{"using": alias_of(request)} | kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: ARG002
        """Save on the database that the page is about."""
        obj.save(using=alias_of(request))

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete there."""
        obj.delete(using=alias_of(request))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Name the rows alone: no row belongs to another one here, and Django would look in the default database."""
        if alias_of(request) == conveyor_settings().database:
            return super().get_deleted_objects(objs, request)
        return [str(obj) for obj in objs], {self.opts.verbose_name_plural: len(objs)}, set(), []

    # -- the choice of a database, and links that keep it -------------------------------------------------------

    def get_list_filter(self, request: HttpRequest) -> Any:
        """Offer the databases where there are several."""
        own = super().get_list_filter(request)
        return [DatabaseFilter, *own] if _are_several() else own

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Refuse a filter by URL for what PostgreSQL cannot store, besides those that Django refuses."""
        return "\x00" not in value and super().lookup_allowed(lookup, value, request)

    def get_preserved_filters(self, request: HttpRequest) -> str:
        """Return the parameters of the list that a page came from, always with its database."""
        given = dict(parse_qsl(super().get_preserved_filters(request))).get(LIST_PARAMETERS, "")
        parameters, kept = QueryDict(given, mutable=True), QueryDict(mutable=True)
        if alias_of(request) != conveyor_settings().database:
            parameters[PARAMETER] = alias_of(request)
        if parameters:
            kept[LIST_PARAMETERS] = parameters.urlencode()
        return kept.urlencode()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[LinkingList]:  # noqa: ARG002
        """Return the list whose links name the database."""
        return LinkingList

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the list, or do an action of it.

        Refused are an action that the user may not do, which Django passes over, and keys that no row could have, on
        which it fails.
        """
        asked = {name for name in request.POST.getlist("action") if name}
        if self.has_view_or_change_permission(request) and not asked <= set(self.get_actions(request)):
            raise PermissionDenied
        if not all(map(self._may_be_key, request.POST.getlist(ACTION_CHECKBOX_NAME))):
            self.message_user(request, "What was selected are no rows of this list. Select them anew.", messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        return super().changelist_view(request, *args, **kwargs)

    def _may_be_key(self, text: str) -> bool:
        """Say whether PostgreSQL can be asked for a row with that key."""
        try:
            self.opts.pk.to_python(text)
        except ValidationError:
            return False
        return "\x00" not in text

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show a row, to change or to look at, or the form for a new one."""
        return _placed(super().changeform_view(request, *args, **kwargs), request)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Ask before a row is deleted."""
        return _placed(super().delete_view(request, *args, **kwargs), request)

    def history_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show what was done to a row in the admin."""
        return _placed(super().history_view(request, *args, **kwargs), request)

    def response_add(self, request: HttpRequest, obj: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        """Lead to the new row."""
        return super().response_add(request, Placed(obj), *args, **kwargs)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Write the log under the key that names the database."""
        return super().log_addition(request, Placed(obj, logged=True), message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Write the log under the key that names the database."""
        return super().log_change(request, Placed(obj, logged=True), message)

    def log_deletions(self, request: HttpRequest, queryset: Iterable[Any]) -> Any:
        """Write the log under the keys that name the database."""
        placed: Any = [Placed(obj, logged=True) for obj in queryset]
        return super().log_deletions(request, placed)


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


def _are_several() -> bool:
    return len(conveyor_settings().databases) > 1


def _placed(response: HttpResponse, request: HttpRequest) -> HttpResponse:
    """Let a page's links name the database of its row, and its heading too."""
    context = getattr(response, "context_data", None)
    if context is None or not _are_several():
        return response
    for name in ("original", "object"):
        if context.get(name) is not None:
            context[name] = Placed(context[name])
    shown = context.get("subtitle")
    context["subtitle"] = f"{f'{shown}, ' if shown else ''}database {alias_of(request)!r}"
    return response
