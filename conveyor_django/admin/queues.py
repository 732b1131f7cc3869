"""Queues: their settings, to change, and the buttons that pause and resume them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.http import QueryDict
from django.urls import reverse
from django.utils.http import urlencode

from ..conf import MAX_EXACT_CAP, MAX_INTEGER, MAX_QUEUE_LENGTH, conveyor_settings
from ..models import Queue
from ..models.queue import MAX_LEASE, MAX_RETENTION, MIN_LEASE
from ..operate.acting import Answer
from ..queues import pause_queue, resume_queue
from ..transactions import joined
from .base import ConveyorForm
from .buttons import Button, ButtonsAdmin, Wish
from .places import PARAMETER, alias_of, place_of

if TYPE_CHECKING:
    from django.contrib.admin.views.main import ChangeList
    from django.http import HttpRequest

# The parameter of a button that stands above a list of jobs: the parameters of that list.
JOBS: Final = "jobs"


def _cap(most: int, help_text: str) -> forms.IntegerField:
    return forms.IntegerField(
        required=False,
        validators=[
            MinValueValidator(1, "A cap is 1 or more. Tick paused to let nothing run."),
            MaxValueValidator(most, f"Use {most} or less."),
        ],
        help_text=help_text,
    )


class QueueForm(ConveyorForm):
    """A queue's settings, with errors that say what would be right."""

    name = forms.CharField(
        max_length=MAX_QUEUE_LENGTH,
        help_text="As in TASKS and @task(queue_name=…).",
    )
    lease_seconds = forms.FloatField(
        required=False,
        validators=[
            MinValueValidator(MIN_LEASE, "A lease shorter than 1 second lapses under running jobs. Use 1 or more."),
            MaxValueValidator(MAX_LEASE, "A lost job would wait for more than a day. Use 86400 or less."),
        ],
        help_text="How long a claim holds unless renewed. Empty: CONVEYOR['LEASE_SECONDS'].",
    )
    retention_seconds = forms.FloatField(
        required=False,
        validators=[
            MinValueValidator(0.0, "A retention cannot be negative. Use 0 to delete ended jobs at once."),
            MaxValueValidator(MAX_RETENTION, "Use at most 100 years (3153600000 seconds)."),
        ],
        help_text="How long succeeded and cancelled jobs are kept. Empty: CONVEYOR['RETENTION_SECONDS'].",
    )

    soft_cap = _cap(MAX_INTEGER, "About how many of its jobs run at once: counted without a lock. Empty: no cap.")
    exact_cap = _cap(MAX_EXACT_CAP, "How many of its jobs run at once, never more. Empty: no cap.")
    key_cap = _cap(MAX_EXACT_CAP, "How many jobs of one concurrency key run at once, never more. Empty: 1.")

    class Meta:
        model = Queue
        fields = ("name", "paused", "soft_cap", "exact_cap", "key_cap", "lease_seconds", "retention_seconds")

    def clean_name(self) -> str:
        """Refuse a name that has settings already."""
        name: str = self.cleaned_data["name"]
        adding = self.instance._state.adding  # noqa: SLF001 - documented, despite its name
        if adding and Queue.objects.using(self.database).filter(name=name).exists():
            raise ValidationError(f"The queue {name!r} has settings already. Change those.")
        return name

    def validate_unique(self) -> None:
        """Leave it to `clean_name`: Django would ask the default database."""


PAUSE: Final = Button(
    name="pause", label="Pause", permission="pause_queue", done="paused", logged="Paused.",
    question="Let no more jobs of a queue be claimed? Those that run, run on.", applies=lambda queue: not queue.paused,
)  # fmt: skip
RESUME: Final = Button(
    name="resume", label="Resume", permission="pause_queue", done="resumed", logged="Resumed.",
    question="Let jobs of a paused queue be claimed again?", applies=lambda queue: queue.paused,
)  # fmt: skip


@admin.register(Queue)
class QueueAdmin(ButtonsAdmin):
    """Settings of queues; a queue without a row has the defaults."""

    form = QueueForm
    list_display = ("name", "paused", "soft_cap", "exact_cap", "key_cap", "lease_seconds", "retention_seconds")
    ordering = ("name",)
    show_full_result_count = False
    buttons: ClassVar = (PAUSE, RESUME)

    class Media:
        css: ClassVar = {"all": ["conveyor/actions.css"]}

    def state_of(self, row: Queue) -> str:
        """Return whether it is paused."""
        return "paused" if row.paused else "not paused"

    def row_of(self, request: HttpRequest, object_id: str) -> Queue | None:
        """Return the queue; one without settings is as good as any other, if it is a queue. None if none could be."""
        known: Queue | None = super().row_of(request, object_id)
        name = place_of(unquote(object_id))[1]
        if known is not None or "\x00" in name:
            return known
        return _without_settings(name, alias_of(request))

    def after(self, request: HttpRequest, row: Queue) -> str:
        """Lead back to the list of jobs that the button stood above, or to that of queues: one may have no page."""
        if JOBS in request.GET:
            # Parameters of that list, whatever they say, and never another address.
            jobs = QueryDict(request.GET[JOBS]).urlencode()
            return f"{reverse(f'{self.admin_site.name}:conveyor_job_changelist')}?{jobs}"
        return reverse(f"{self.admin_site.name}:conveyor_queue_changelist") + _query(row)

    def beside_jobs(self, request: HttpRequest, listed: ChangeList, name: str) -> dict[str, Any]:
        """Return what a list of this queue's jobs shows of it, and the buttons that lead back there; by one query."""
        alias = listed.root_queryset.db
        queue = Queue.objects.using(alias).filter(pk=name).first() or _without_settings(name, alias)
        query = urlencode({JOBS: listed.get_query_string().removeprefix("?")})
        links = [link | {"url": f"{link['url']}?{query}"} for link in self.links(request, queue)]
        return {"queue": queue, "buttons": links}

    def carry_out(self, wish: Wish, row: Queue) -> Answer:
        """Pause or resume it, and log it, in one transaction where the log is in the same database."""
        alias, wanted = row._state.db or "", wish.button is PAUSE  # noqa: SLF001 - documented, despite its name
        home = conveyor_settings().database_of(row.name)
        if home != alias:
            return Answer(False, None, f"refused: the queue lives on database {home!r} now, not on {alias!r}")
        try:
            with joined(alias):
                locked = Queue.objects.using(alias).select_for_update(no_key=True).filter(pk=row.pk)
                if any(locked.values_list("paused", flat=True)) is wanted:
                    return Answer(False, None, "paused already" if wanted else "not paused")
                (pause_queue if wanted else resume_queue)(row.name)
                self.log_change(wish.request, row, wish.button.logged)
        except ValueError as error:
            return Answer(False, None, f"refused: {error}")
        return Answer(True, None, "")

    def get_readonly_fields(self, request: HttpRequest, obj: Queue | None = None) -> tuple[str, ...]:  # noqa: ARG002
        """Keep the name of a row that exists: jobs refer to it."""
        return () if obj is None else ("name",)


def _without_settings(name: str, alias: str) -> Queue:
    queue = Queue(name=name)
    queue._state.db = alias  # noqa: SLF001 - documented, despite its name
    return queue


def _query(row: Queue) -> str:
    alias = row._state.db or ""  # noqa: SLF001 - documented, despite its name
    return "" if alias == conveyor_settings().database else f"?{urlencode({PARAMETER: alias})}"
