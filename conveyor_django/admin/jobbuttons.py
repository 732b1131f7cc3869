"""What can be done to jobs in the admin: retry, with other arguments too, cancel, run now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponseRedirect
from django.urls import path
from django.utils.html import format_html

from ..conflicts import Existing
from ..errors import ForeignTransaction, IdempotencyConflict
from ..operate.acting import CANCEL, RETRY, RUN_NOW, Act, Answer, act_on
from ..operate.again import MOST, alias_of, enqueue_again, made_from, origin_of
from ..states import TERMINAL, JobState
from ..transactions import joined
from .buttons import Button, ButtonsAdmin, Wish
from .edit import EditForm
from .places import page_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.http import HttpRequest, HttpResponse

    from ..models import Job

EDIT: Final = "edit"
MAY_RETRY: Final = "retry_job"
MAY_EDIT: Final = "edit_job"
_ACTS: Final[dict[str, Act]] = {act.name: act for act in (RETRY, RUN_NOW, CANCEL)}


def _button(act: Act, **fields: Any) -> Button:
    return Button(name=act.name, applies=lambda job: job.state in act.states, **fields)


BUTTONS: Final = (
    _button(
        RETRY, label="Retry", permission=MAY_RETRY, done="made ready again", logged="Retried.",
        question="Make failed and cancelled jobs ready again, with fresh budgets and the same arguments?",
    ),
    _button(
        RUN_NOW, label="Run now", permission="run_job_now", done="made ready", logged="Made ready before its time.",
        question="Make scheduled jobs ready at once, also those that wait for the delay of a retry?",
    ),
    _button(
        CANCEL, label="Cancel", permission="cancel_job", done="cancelled", logged="Cancelled.",
        question="Cancel jobs that have not ended? One that runs is asked to stop, and may succeed first.",
    ),
)  # fmt: skip


class JobButtons(ButtonsAdmin):
    """The buttons of jobs, and the form for other arguments."""

    buttons: ClassVar = BUTTONS

    def state_of(self, row: Job) -> str:
        """Return its state."""
        return f"{row.task}, {row.state}"

    def carry_out(self, wish: Wish, row: Job) -> Answer:
        """Do it, and log it, in one transaction where the log is in the same database."""
        return act_on(
            _ACTS[wish.button.name], row.pk, alias_of(row), deadline=wish.deadline,
            then=lambda job: self.log_change(wish.request, job, wish.button.logged),
        )  # fmt: skip

    def get_urls(self) -> list[Any]:
        """Add the page of the form."""
        view = self.admin_site.admin_view(self.edit_view)
        return [path(f"<path:object_id>/do/{EDIT}/", view, name="conveyor_job_edit"), *super().get_urls()]

    def links(self, request: HttpRequest, row: Job) -> list[dict[str, str]]:
        """Return the buttons of a job's page."""
        links = super().links(request, row)
        if row.state in TERMINAL and self.may(request, MAY_EDIT):
            links.append({"label": "Retry with other arguments", "url": self.url_of(row, EDIT)})
        return links

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Show also which job it was made from, and which were made from it."""
        row = kwargs.get("obj")
        if row is not None:
            origin = origin_of(row)
            context["conveyor_origin"] = None if origin is None else self._link(row, origin)
            # Only what has ended is enqueued anew.
            context["conveyor_made"] = self._links(row, made_from(row).values()) if row.state in TERMINAL else []
        return super().render_change_form(request, context, *args, **kwargs)

    def edit_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the form for other arguments, or enqueue the job that it makes."""
        if not self.may(request, MAY_EDIT):
            raise PermissionDenied
        job = self.row_of(request, object_id)
        if job is None:
            return self.missing(request, object_id)
        made = made_from(job)
        if refusal := _refusal(job, made):
            self.message_user(request, refusal, messages.ERROR)
            return HttpResponseRedirect(page_of(job))
        form = EditForm(request.POST if request.method == "POST" else None, job=job, number=max(made, default=0) + 1)
        if form.is_valid() and (new := self._enqueued(request, job, form)) is not None:
            return HttpResponseRedirect(page_of(new))
        context = {"form": form, "original": job, "original_url": page_of(job), "made": self._links(job, made.values())}
        return self.page(request, "Retry with other arguments", "admin/conveyor/job/edit.html", context)

    def _enqueued(self, request: HttpRequest, job: Job, form: EditForm) -> Job | None:
        """Enqueue the form's job and tell of it in the log of both; None where the form has an error then."""
        try:
            with joined(alias_of(job)):
                return self._stored(request, job, form.cleaned_data)
        except IdempotencyConflict:
            form.add_error(None, "A job was made from it meanwhile, with other arguments. Open the form anew.")
            return None
        except ForeignTransaction as error:
            form.add_error(None, str(error))
            return None

    def _stored(self, request: HttpRequest, job: Job, given: dict[str, Any]) -> Job:
        stored = enqueue_again(job, given["args"], given["kwargs"], number=given["number"])
        new = self._other(job, stored.id)
        if isinstance(stored, Existing):
            text = "It was enqueued already, as {}: the form was sent twice."
            self.message_user(request, format_html(text, self._link(job, new.pk)), messages.WARNING)
            return new
        self.log_change(request, job, f"Enqueued anew with other arguments, as job {new.pk}.")
        self.log_addition(request, new, f"Made from job {job.pk}, with other arguments.")
        text = "{} was enqueued, made from {} with these arguments."
        self.message_user(request, format_html(text, self._link(job, new.pk), self._link(job, job.pk)))
        return new

    def _links(self, job: Job, ids: Iterable[int]) -> list[Any]:
        return [self._link(job, job_id) for job_id in ids]

    def _link(self, job: Job, job_id: int) -> Any:
        return format_html('<a href="{}">job {}</a>', page_of(self._other(job, job_id)), job_id)

    def _other(self, job: Job, job_id: int) -> Job:
        """Return another job of the same database, to name it; nothing of it is read."""
        other: Job = self.model.from_db(alias_of(job), ["id"], [job_id])
        return other


def _refusal(job: Job, made: dict[int, int]) -> str | None:
    """Say why no job can be made from this one; None where one can."""
    if job.state not in TERMINAL:
        what = "It runs" if job.state == JobState.RUNNING else f"It is {job.state}"
        return f"{what}: its arguments cannot be changed. Cancel it first, then enqueue it anew with others."
    if not hasattr(job, "payload"):
        return "Its arguments are not there any more, so it cannot be enqueued anew with others."
    if len(made) >= MOST:
        return f"{MOST} jobs were made from it already. Make the next one from one of those."
    return None
