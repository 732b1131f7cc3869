"""The list of jobs: pages by id, the newest first, each found within a moment on a table of any size."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from django.contrib.admin.options import IncorrectLookupParameters
from django.utils.functional import cached_property

from ..conf import MAX_ID
from ..operate.walk import Found, newest, pick, walk
from .candidates import BY_ID, few_candidates
from .filters import QueueFilter, StateFilter
from .paginator import COUNTED
from .periods import parse_period
from .places import LinkingList
from .typed import EndedFilter, EnqueuedFilter, TaskFilter

if TYPE_CHECKING:
    import datetime as dt

    from django.db.models import QuerySet
    from django.http import HttpRequest

# The parameter of older pages: jobs with smaller ids.
BEFORE: Final = "before"
FILTERS: Final = (StateFilter, QueueFilter, TaskFilter, EnqueuedFilter, EndedFilter)
# The parameters that leave jobs out.
NARROWING: Final = frozenset(each.parameter_name for each in FILTERS)
_ID: Final = re.compile(r"[0-9]{1,19}", re.ASCII)


class JobList(LinkingList):
    """A list in the one order that an index serves, whatever the URL asks for; Django's pages by number are not there.

    `found` says which jobs a page shows, and where the older ones begin.
    """

    before: int | None = None
    found: Found

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:  # noqa: ARG002
        """Order by id, the newest first."""
        return ["-id"]

    def get_queryset(self, request: HttpRequest, *args: Any, **kwargs: Any) -> QuerySet[Any]:
        """Return what the filters and the search leave, of all pages; take the place of this page from the URL."""
        # No other link of the page keeps the place: another filter begins with its newest again.
        for parameters in (self.params, self.filter_params):
            parameters.pop(BEFORE, None)
        self.before = _place(request.GET.get(BEFORE))
        return super().get_queryset(request, *args, **kwargs)

    def get_results(self, request: HttpRequest) -> None:
        """Find the page's jobs."""
        self.found = self.find(self.list_per_page, before=self.before)
        rows = self.root_queryset.filter(pk__in=self.found.ids).order_by()
        self.result_list = sorted(rows, key=lambda job: -job.pk)
        self.paginator = self.model_admin.get_paginator(request, self.root_queryset, self.list_per_page)
        # Of this page: what is not counted is not told. Both, since Django shows the one where they differ.
        self.result_count = self.full_result_count = len(self.result_list)
        self.show_full_result_count = False
        self.show_admin_actions = True
        self.can_show_all = self.multi_page = False

    def find(self, limit: int, *, before: int | None = None) -> Found:
        """Return up to `limit` jobs that the filters and the search leave, the newest first."""
        if not self.is_narrowed:
            return newest(self.root_queryset, before=before, limit=limit)
        if self.queryset.query.is_empty():
            return Found([])
        if self.query.strip():
            # Few: they were found by index.
            return pick(self.queryset, before=before, limit=limit)
        state, alias = self.params.get(StateFilter.parameter_name), self.root_queryset.db
        # An empty field is no queue.
        queue = self.params.get(QueueFilter.parameter_name) or None
        few = few_candidates(alias, state=state, queue=queue, ended_from=self._ended_from)
        if few is not None:
            return pick(self.queryset.filter(pk__in=few), before=before, limit=limit)
        among = self.root_queryset.filter(state=state) if state in BY_ID else self.root_queryset
        return walk(self.queryset, among=among, before=before, limit=limit)

    @cached_property
    def is_narrowed(self) -> bool:
        """Whether a filter or a search leaves jobs out; that of a database that is not there leaves none."""
        return bool(self.query.strip() or NARROWING & set(self.params) or self.queryset.query.is_empty())

    @property
    def told(self) -> str:
        """What is known of how many there are, in words."""
        if not self.is_narrowed:
            count = self.paginator.count
            return f"about {count:,} jobs" if count > COUNTED else _jobs(count)
        shown = _jobs(len(self.result_list))
        if self.found.gave_up:
            return f"{shown} found down to job {self.found.before}; older ones are not looked at yet"
        if self.found.before is not None:
            return f"{shown} on this page, and older ones"
        return shown if self.before is None else f"{shown} on this page, the oldest"

    @property
    def older_url(self) -> str | None:
        """The page of the older jobs; None where there are none."""
        return None if self.found.before is None else self.get_query_string({BEFORE: str(self.found.before)})

    @property
    def newest_url(self) -> str | None:
        """The first page; None where this is it."""
        return None if self.before is None else self.get_query_string()

    @property
    def _ended_from(self) -> dt.datetime | None:
        value = self.params.get(EndedFilter.parameter_name)
        try:
            return parse_period(value).start if value else None
        except ValueError:
            # Told by the filter itself, which leaves nothing then.
            return None


def _place(value: str | None) -> int | None:
    """Return the id that the parameter names. Raises IncorrectLookupParameters, which leads back to the list."""
    if value is None:
        return None
    if _ID.fullmatch(value) and int(value) <= MAX_ID:
        return int(value)
    raise IncorrectLookupParameters(f"{BEFORE} must be a job's id, not {value!r}")


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count:,} jobs"
