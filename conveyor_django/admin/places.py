"""Which database a page is about, where jobs live in several: in its URL, as ``alias:key`` or as ``?database=alias``.

The key of a row of CONVEYOR["DATABASE"] stands alone, so that with one database the URLs are Django's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from django.contrib.admin.utils import quote, unquote
from django.contrib.admin.views.main import ChangeList
from django.urls import reverse

from ..conf import conveyor_settings

if TYPE_CHECKING:
    from django.db.models import Model
    from django.http import HttpRequest

# The parameter of lists, and Django's own, which carries a list's parameters to the pages that it leads to.
PARAMETER: Final = "database"
LIST_PARAMETERS: Final = "_changelist_filters"


def key_of(row: Model) -> str:
    """Return what names a row in URLs and in the admin's log: its key, with its database if it could be another's."""
    alias, key = row._state.db or "", str(row.pk)  # noqa: SLF001 - documented, despite its name
    return key if place_of(key) == (alias, key) else f"{alias}:{key}"


def place_of(text: str) -> tuple[str, str]:
    """Return the database and the key that `key_of` made the text of."""
    databases = conveyor_settings().databases
    # The longest first: one alias may begin with another and a colon.
    for alias in sorted(databases, key=len, reverse=True):
        if len(databases) > 1 and text.startswith(f"{alias}:"):
            return alias, text.removeprefix(f"{alias}:")
    return databases[0], text


def page_of(row: Model) -> str:
    """Return the URL of a row's page in the admin."""
    options = row._meta  # noqa: SLF001 - public, despite its name
    return reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[quote(key_of(row))])


def alias_of(request: HttpRequest) -> str:
    """Return the database that a request is about; CONVEYOR["DATABASE"] where it names none that there is."""
    match = request.resolver_match
    if match is not None and "object_id" in match.kwargs:
        return place_of(unquote(match.kwargs["object_id"]))[0]
    asked = request.GET.get(PARAMETER) or dict(parse_qsl(request.GET.get(LIST_PARAMETERS, ""))).get(PARAMETER)
    databases = conveyor_settings().databases
    return asked if asked in databases else databases[0]


class LinkingList(ChangeList):
    """A list whose links name the rows' database too."""

    def url_for_result(self, result: Model) -> str:
        """Return the URL of a row's page."""
        return reverse(
            f"admin:{self.opts.app_label}_{self.opts.model_name}_change",
            args=[quote(key_of(result))],
            current_app=self.model_admin.admin_site.name,
        )


class Placed:
    """A row for Django's templates and its log, whose key names its database too."""

    def __init__(self, row: Model, *, logged: bool = False) -> None:
        self._row = row
        self.pk = key_of(row) if logged else _LinkKey(row)

    def __str__(self) -> str:
        return str(self._row)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name)


class _LinkKey(str):
    """A row's key, which names its database too where it is quoted for a URL, and there alone."""

    __slots__ = ("_named",)
    _named: str

    def __new__(cls, row: Model) -> _LinkKey:
        key = super().__new__(cls, row.pk)
        key._named = key_of(row)
        return key

    def translate(self, table: Any, /) -> str:
        """Translate as `quote` does."""
        return self._named.translate(table)
