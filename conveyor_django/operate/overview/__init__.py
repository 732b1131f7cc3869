"""What goes on in one database: one function for each question, and `overview`, which asks them all.

What it costs does not grow with the number of jobs: see `moment.py`. docs/status.md has the figures.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from ...models import PausedTask
from ..answers import Answer
from .crons import CronView, crons
from .moment import Count, Moment
from .queues import Depth, QueueView, queues
from .rates import Bucket, Ended, History, Rates, rates
from .tables import TableView, tables
from .workers import LiveWorker, Run, workers

__all__ = [
    "Bucket", "Count", "CronView", "Depth", "Ended", "History", "LiveWorker", "Moment", "Overview", "QueueView",
    "Rates", "Run", "TableView", "crons", "overview", "queues", "rates", "tables", "workers",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview(Answer):
    """One look at one database: `at` is its clock's time."""

    database: str
    at: dt.datetime
    queues: tuple[QueueView, ...]
    history: History
    workers: tuple[LiveWorker, ...]
    paused_tasks: tuple[str, ...]
    crons: tuple[CronView, ...]
    tables: tuple[TableView, ...]


def overview(alias: str) -> Overview:
    """Return all there is to see of the jobs of a database. Database errors pass through."""
    moment = Moment(alias)
    ended, live = rates(moment), workers(moment)
    return Overview(
        database=alias,
        at=moment.now,
        queues=queues(moment, rates=ended, workers=live),
        history=ended.history(),
        workers=live,
        paused_tasks=tuple(PausedTask.objects.using(alias).order_by("task").values_list("task", flat=True)),
        crons=crons(moment),
        tables=tables(moment),
    )
