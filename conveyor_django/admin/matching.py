"""Retry all jobs that the list's filters leave: counted up to a bound, asked once, done in batches."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final

from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.db import connections
from django.http import HttpResponseRedirect
from django.urls import path, reverse
from django.utils.dateparse import parse_datetime

from ..instants import in_utc
from ..operate.selection import BATCH, requeue_matching
from ..operate.walk import Found
from ..states import JobState
from .filters import StateFilter
from .jobbuttons import MAY_RETRY, JobButtons

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from .joblist import JobList

# Jobs that one click retries: some seconds of work.
MOST: Final = 10_000
# When the question was asked: what has failed since then was not meant.
ASKED: Final = "asked"
# Of these all can be retried. One at a time, so that nobody runs again what somebody has cancelled on purpose.
STATES: Final = frozenset({JobState.FAILED, JobState.CANCELLED})


class RetryMatching(JobButtons):
    """A button above the list that retries all jobs that match, where they have all failed or been cancelled."""

    def get_urls(self) -> list[Any]:
        """Add the page."""
        view = self.admin_site.admin_view(self.matching_view)
        return [path("retry-matching/", view, name="conveyor_job_retry_matching"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Add the button to the list."""
        response = super().changelist_view(request, *args, **kwargs)
        context = getattr(response, "context_data", None)
        if context is not None and "cl" in context and self._offers(request, context["cl"]):
            query = context["cl"].get_query_string()
            url = f"{self._url('retry_matching')}{query}"
            context["conveyor_tools"] = [{"label": "Retry all that match", "url": url}]
        return response

    def matching_view(self, request: HttpRequest) -> HttpResponse:
        """Ask whether to retry all that match, or do it."""
        if not self.may(request, MAY_RETRY):
            raise PermissionDenied
        try:
            listed: Any = self.get_changelist_instance(request)
        except IncorrectLookupParameters as error:
            self.message_user(request, f"{error}. Begin with the list.", messages.ERROR)
            return HttpResponseRedirect(self._url("changelist"))
        back = f"{self._url('changelist')}{listed.get_query_string()}"
        if not self._offers(request, listed):
            text = "Choose the state failed or cancelled: all that match can be retried in these alone."
            self.message_user(request, text, messages.ERROR)
            return HttpResponseRedirect(back)
        if request.method == "POST":
            self._retry(request, listed)
            return HttpResponseRedirect(back)
        context = {
            "counted": _counted(listed.find(MOST)), "filters": _told(listed), "asked": _now(listed.root_queryset.db),
            "most": MOST, "back": back,
        }  # fmt: skip
        return self.page(request, "Retry all that match", "admin/conveyor/job/retry_matching.html", context)

    def _offers(self, request: HttpRequest, listed: JobList) -> bool:
        return listed.params.get(StateFilter.parameter_name) in STATES and self.may(request, MAY_RETRY)

    def _retry(self, request: HttpRequest, listed: JobList) -> None:
        asked = _instant(request.POST.get(ASKED, ""))
        if asked is None:
            self.message_user(request, "The form was not complete, so nothing was done. Ask anew.", messages.ERROR)
            return
        jobs = listed.queryset.filter(finished_at__lte=asked)
        done, more = 0, False
        try:
            for number, count in enumerate(requeue_matching(jobs), start=1):
                done += count
                if more := number * BATCH >= MOST:
                    break
        finally:
            # Each batch has committed: whatever becomes of the next, these were retried.
            self._log(request, _told(listed), done)
        left = jobs.exists()
        text = f"{done:,} {'job was' if done == 1 else 'jobs were'} made ready again."
        if left:
            text += " There are more: ask again." if more else " Others were locked at the moment: ask again."
        self.message_user(request, text, messages.WARNING if left else messages.SUCCESS)

    def _log(self, request: HttpRequest, filters: str, done: int) -> None:
        user: Any = request.user
        LogEntry.objects.create(
            user_id=user.pk, content_type_id=ContentType.objects.get_for_model(self.model).pk, object_id=None,
            object_repr=f"jobs with {filters}"[:200], action_flag=CHANGE, change_message=f"Retried {done:,} of them.",
        )  # fmt: skip

    def _url(self, name: str) -> str:
        return reverse(f"{self.admin_site.name}:conveyor_job_{name}")


def _counted(found: Found) -> str:
    """Return how many there are, as far as it is known."""
    count = len(found.ids)
    if found.before is None:
        return "1 job matches" if count == 1 else f"{count:,} jobs match"
    return f"More than {count:,} jobs match" if not found.gave_up else f"{count:,} jobs match, and maybe older ones"


def _told(listed: JobList) -> str:
    """Return what the filters and the search say."""
    given = {name: value for name, value in listed.params.items() if value}
    return ", ".join(f"{name} {value}" for name, value in sorted(given.items()))


def _now(alias: str) -> str:
    """Return the database's time."""
    with connections[alias].cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: dt.datetime = cursor.fetchone()[0]
        return now.isoformat()


def _instant(text: str) -> dt.datetime | None:
    try:
        instant = parse_datetime(text)
        return None if instant is None or instant.tzinfo is None else in_utc(instant)
    except ValueError:
        return None
