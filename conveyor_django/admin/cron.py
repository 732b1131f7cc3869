"""Cron entries: the admin's own to make and change, the code's to switch on and off; each with its next ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.utils import timezone

from ..compat import InvalidTask
from ..conf import MAX_QUEUE_LENGTH, conveyor_settings
from ..conflicts import Existing
from ..cronrules import MAX_JITTER, MAX_MISSED, MAX_NAME_LENGTH
from ..cronspec import FIELDS, MAX_LENGTH
from ..crontab import job_of
from ..errors import ForeignTransaction, InvalidArguments, InvalidCron, UnknownTask
from ..models import Cron
from ..operate.acting import Answer
from ..operate.again import alias_of as database_of
from ..operate.again import enqueue_cron
from ..transactions import joined
from .base import ConveyorForm
from .buttons import Button, ButtonsAdmin, Wish
from .edit import JSONText
from .places import alias_of
from .render import NOTHING, table

if TYPE_CHECKING:
    import datetime as dt

    from django.http import HttpRequest
    from django.utils.safestring import SafeString

# How many of the next ticks a page shows.
SHOWN: Final = 5
_FORMAT: Final = "%a %Y-%m-%d %H:%M:%S %z"


class CronForm(ConveyorForm):
    """An entry, refused with the reason where no scheduler could do what it says."""

    name = forms.CharField(max_length=MAX_NAME_LENGTH)
    expression = forms.CharField(max_length=MAX_LENGTH, help_text=f"{FIELDS.capitalize()}; or @daily and its like.")
    zone = forms.CharField(initial="UTC", help_text="Whose wall clock it goes by, such as Europe/Berlin.")
    task = forms.CharField(help_text="Dotted path of the task function.")
    args = JSONText(initial=list, required=False, help_text="A list.")
    kwargs = JSONText(initial=dict, required=False, help_text="An object.")
    queue = forms.CharField(max_length=MAX_QUEUE_LENGTH, required=False, help_text="Empty: the task's own.")
    max_missed = forms.IntegerField(initial=100, help_text=f"Where all are made up for: how many, up to {MAX_MISSED}.")
    jitter_seconds = forms.FloatField(
        initial=0.0, help_text=f"Each job runs later by a part of it; up to {MAX_JITTER:.0f}."
    )

    class Meta:
        model = Cron
        fields = (
            "name", "expression", "zone", "task", "args", "kwargs", "queue", "enabled", "missed", "max_missed",
            "overlap", "jitter_seconds",
        )  # fmt: skip

    def clean_name(self) -> str:
        """Refuse a name that is taken."""
        name: str = self.cleaned_data["name"]
        if Cron.objects.using(self.database).filter(name=name).exists():
            raise ValidationError(f"There is an entry {name!r} already. Change that one.")
        return name

    def clean_args(self) -> Any:
        """Take nothing for no arguments."""
        args = self.cleaned_data["args"]
        return [] if args is None else args

    def clean_kwargs(self) -> Any:
        """Take nothing for no arguments."""
        kwargs = self.cleaned_data["kwargs"]
        return {} if kwargs is None else kwargs

    def clean_queue(self) -> str | None:
        """Take nothing for the task's own queue."""
        return self.cleaned_data["queue"] or None

    def clean(self) -> dict[str, Any]:
        """Refuse what could not be enqueued; what else is wrong the model says."""
        given: dict[str, Any] = self.cleaned_data
        task, args, kwargs = (given.get(name) for name in ("task", "args", "kwargs"))
        if task and isinstance(args, list) and isinstance(kwargs, dict) and "queue" in given:
            try:
                job_of(task, args, kwargs, given["queue"], alias=self.database, settings=conveyor_settings())
            except UnknownTask as error:
                self.add_error("task", f"There is no such task: {error.reason}.")
            except InvalidArguments as error:
                self.add_error("args", str(error))
            except (InvalidTask, InvalidCron) as error:
                self.add_error("queue", str(error))
        return given

    def validate_unique(self) -> None:
        """Leave it to `clean_name`: Django would ask the default database."""


class SwitchForm(ConveyorForm):
    """The one thing that can be changed of an entry that stands in the code, also where the rest of it is broken."""

    class Meta:
        model = Cron
        fields = ("enabled",)

    def _post_clean(self) -> None:
        self.instance.enabled = self.cleaned_data["enabled"]


RUN: Final = Button(
    name="run", label="Run now", permission="run_cron", done="enqueued", logged="Run by hand.",
    question="Enqueue the job of an entry now, beside its ticks, which stay as they are?", applies=lambda entry: True,  # noqa: ARG005
)  # fmt: skip


@admin.register(Cron)
class CronAdmin(ButtonsAdmin):
    """Entries, and when they tick next."""

    form = CronForm
    list_display = ("name", "expression", "zone", "task", "enabled", "declared", "last_tick", "next_tick")
    list_filter = ("enabled", "declared")
    search_fields = ("name", "task")
    ordering = ("name",)
    show_full_result_count = False

    buttons: ClassVar = (RUN,)

    class Media:
        css: ClassVar = {"all": ["conveyor/actions.css"]}

    _seen: ClassVar = ("declared", "last_tick", "last_job_id", "next_ticks")

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Return the form of an entry; one that stands in the code is changed there."""
        if obj is not None and obj.declared:
            kwargs["form"] = SwitchForm
        return super().get_form(request, obj, change, **kwargs)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        """Show what schedulers make of an entry that is there."""
        return [*CronForm.Meta.fields, *(() if obj is None else self._seen)]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:  # noqa: ARG002
        """Keep the name, which is in the keys of the jobs; and all that the code says."""
        if obj is None:
            return ()
        if obj.declared:
            return (*(name for name in CronForm.Meta.fields if name != "enabled"), *self._seen)
        return ("name", *self._seen)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save what the page can change."""
        if change and obj.declared:
            obj.save(using=alias_of(request), update_fields=["enabled"])
        else:
            super().save_model(request, obj, form, change)

    def state_of(self, row: Cron) -> str:
        """Return what it enqueues."""
        return f"{row.task}, {'enabled' if row.enabled else 'switched off'}"

    def carry_out(self, wish: Wish, row: Cron) -> Answer:
        """Enqueue its job, and log it, in one transaction where the log is in the same database."""
        try:
            with joined(database_of(row)):
                stored = enqueue_cron(row, token=wish.token)
                if isinstance(stored, Existing):
                    return Answer(False, None, f"enqueued already, as job {stored.id}: the form was sent twice")
                self.log_change(wish.request, row, f"{wish.button.logged} It enqueued job {stored.id}.")
        except UnknownTask as error:
            return Answer(False, None, f"refused, since there is no such task: {error.reason}")
        except (InvalidArguments, InvalidCron, InvalidTask, ForeignTransaction) as error:
            return Answer(False, None, f"refused: {error}")
        return Answer(True, None, f"as job {stored.id}")

    @admin.display(description="next tick")
    def next_tick(self, entry: Cron) -> str:
        """Show when it ticks next, on its own clock."""
        if not entry.enabled:
            return NOTHING
        try:
            return next(iter(_upcoming(entry, 1)), (NOTHING, NOTHING))[0]
        except InvalidCron as error:
            return str(error)

    @admin.display(description="next ticks")
    def next_ticks(self, entry: Cron) -> SafeString | str:
        """Show when it would tick next, on its own clock and in UTC."""
        try:
            return table([entry.zone, "UTC"], _upcoming(entry, SHOWN))
        except InvalidCron as error:
            return str(error)


def _upcoming(entry: Cron, count: int) -> list[tuple[str, str]]:
    spec = entry.spec()
    ticks: list[dt.datetime] = spec.upcoming(count, after=timezone.now())
    return [(spec.local(tick).strftime(_FORMAT), tick.strftime(_FORMAT)) for tick in ticks]
