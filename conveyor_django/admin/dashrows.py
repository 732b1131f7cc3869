"""What the dashboard's tables show: figures of the overview with the links that the user may follow."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar
from urllib.parse import urlencode

from django.contrib.auth import get_permission_codename
from django.urls import reverse

from ..conf import conveyor_settings
from ..models import Cron, Job, Queue, Worker
from ..operate.wording import lasting
from .places import PARAMETER, page_of
from .render import NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from django.db.models import Model
    from django.http import HttpRequest

    from ..operate.overview import Count, CronView, LiveWorker, Overview, QueueView, Run

# As the columns stand.
STATES: Final = ("ready", "parked", "running", "scheduled", "blocked", "failed")
# Rows of one table, and names in one cell: the page is fetched every few seconds.
SHOWN: Final = 100
NAMED: Final = 20

_View = TypeVar("_View")


class Cell(NamedTuple):
    """So many jobs of a queue in a state, and the list of them if it can be asked for."""

    state: str
    jobs: Count
    url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """A queue, with links to its jobs and its settings."""

    view: QueueView
    oldest: str
    settings: str | None
    states: tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A job that a worker runs, with a link to it."""

    view: Run
    page: str
    lasting: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    """A worker, its page if the user may see it, and what it runs."""

    view: LiveWorker
    page: str | None
    state: str
    seen: str
    up: str
    queues: str
    runs: tuple[RunRow, ...]
    more: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CronRow:
    """A cron entry, its page if the user may see it, and how far its next tick is."""

    view: CronView
    page: str | None
    until: str
    note: str
    kind: str


# By what a cron entry's note says.
_URGENCY: Final = {"problem": 0, "warning": 1}


class Rows:
    """The rows of one look, for one user: of each kind SHOWN at most, the most urgent ones where there are more."""

    def __init__(self, request: HttpRequest, overview: Overview) -> None:
        self._request = request
        self._overview = overview
        self._list = reverse("admin:conveyor_job_changelist")

    def queues(self) -> list[QueueRow]:
        """Return the queues; of many, those with the job that has waited longest, then those where most failed."""
        views = _most_urgent(
            self._overview.queues, lambda view: (-(view.oldest_ready_seconds or 0.0), -view.hour.failed.jobs)
        )
        names = [view.name for view in views]
        settings = Queue.objects.using(self._overview.database).in_bulk(names) if self._may_see(Queue) else {}
        return [self._queue(view, settings.get(view.name)) for view in views]

    def workers(self) -> list[WorkerRow]:
        """Return the workers; of many, those that are silent, then those that run most."""
        seen = self._may_see(Worker)
        views = _most_urgent(self._overview.workers, lambda view: (view.alive, -view.running))
        return [self._worker(view, linked=seen) for view in views]

    def crons(self) -> list[CronRow]:
        """Return the cron entries; of many, those with a problem, then those that are late."""
        seen = self._may_see(Cron)
        views = _most_urgent(self._overview.crons, lambda view: _URGENCY.get(view.note()[1], len(_URGENCY)))
        return [self._cron(view, linked=seen) for view in views]

    def paused_tasks(self) -> tuple[str, ...]:
        """Return the paused tasks; of many, the first by name."""
        return self._overview.paused_tasks[:SHOWN]

    def more(self) -> dict[str, str]:
        """Return how many of each kind are not shown; "" where all are."""
        seen = self._overview
        kinds: dict[str, Sequence[Any]] = {
            "queues": seen.queues, "workers": seen.workers, "crons": seen.crons, "paused_tasks": seen.paused_tasks
        }  # fmt: skip
        return {kind: f"{len(all_) - SHOWN:,}" if len(all_) > SHOWN else "" for kind, all_ in kinds.items()}

    def _queue(self, view: QueueView, settings: Queue | None) -> QueueRow:
        return QueueRow(
            view=view, settings=None if settings is None else page_of(settings),
            oldest=NOTHING if view.oldest_ready_seconds is None else lasting(view.oldest_ready_seconds),
            states=tuple(self._cell(view, state) for state in STATES),
        )  # fmt: skip

    def _cell(self, view: QueueView, state: str) -> Cell:
        count: Count = getattr(view.depth, state)
        # The list of jobs has no filter for those that are out of line: they are in that of the ready ones.
        return Cell(state, count, self._jobs(view.name, state) if count.jobs and state != "parked" else None)

    def _worker(self, view: LiveWorker, *, linked: bool) -> WorkerRow:
        return WorkerRow(
            view=view, page=self._page(Worker(pk=view.incarnation)) if linked else None,
            state="silent" if not view.alive else "draining" if view.draining else "alive",
            seen=lasting(view.seen_seconds), up=lasting(self._since(view.started_at)),
            queues=_named(view.queues) or "every queue", runs=tuple(map(self._run, view.runs)),
            more=view.running - len(view.runs),
        )  # fmt: skip

    def _run(self, view: Run) -> RunRow:
        return RunRow(view=view, page=self._page(Job(pk=view.job_id)), lasting=lasting(view.seconds))

    def _cron(self, view: CronView, *, linked: bool) -> CronRow:
        until = "" if view.next_tick is None or view.late_seconds is not None else lasting(-self._since(view.next_tick))
        note, kind = view.note()
        return CronRow(
            view=view, page=self._page(Cron(pk=view.name)) if linked else None, until=until, note=note, kind=kind
        )

    def _jobs(self, queue: str, state: str) -> str:
        """Return the list of the queue's jobs in a state."""
        place = {PARAMETER: self._overview.database} if len(conveyor_settings().databases) > 1 else {}
        return f"{self._list}?{urlencode({**place, 'queue': queue, 'state': state})}"

    def _page(self, row: Model) -> str:
        row._state.db = self._overview.database  # noqa: SLF001 - documented, despite its name
        return page_of(row)

    def _since(self, instant: dt.datetime) -> float:
        return (self._overview.at - instant).total_seconds()

    def _may_see(self, model: type[Model]) -> bool:
        return may_see(self._request, model)


def _most_urgent(views: Sequence[_View], urgency: Callable[[_View], Any]) -> Sequence[_View]:
    """Return all in their order, or the SHOWN with the least urgency value, those first."""
    return views if len(views) <= SHOWN else sorted(views, key=urgency)[:SHOWN]


def _named(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")


def may_see(request: HttpRequest, model: type[Model]) -> bool:
    """Say whether the user may look at the model's pages: whoever may change may look."""
    options: Any = model._meta  # noqa: SLF001 - public, despite its name
    user: Any = request.user
    return any(
        user.has_perm(f"{options.app_label}.{get_permission_codename(action, options)}")
        for action in ("view", "change")
    )
