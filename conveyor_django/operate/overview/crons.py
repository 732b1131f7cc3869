"""Cron entries: when each has ticked, when it ticks next, and which is late."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from django.utils.module_loading import autodiscover_modules

from ...cronspec import CronSpec
from ...crontab import declared_entries
from ...errors import InvalidCron
from ...models import Cron
from ..answers import Answer
from .moment import Moment

if TYPE_CHECKING:
    from ...managers.cron import Listed


@dataclass(frozen=True, slots=True, kw_only=True)
class CronView(Answer):
    """An entry; `abandoned` if it came from code that this process does not have: then no scheduler of it ticks it."""

    name: str
    expression: str
    zone: str
    task: str
    enabled: bool
    declared: bool
    abandoned: bool
    last_tick: dt.datetime | None
    # The first after the last one; it lies behind where schedulers are late. None where it does not tick.
    next_tick: dt.datetime | None
    # How far behind, in seconds; None where it is not due yet.
    late_seconds: float | None
    # Why it cannot be read, if it cannot.
    error: str | None


def crons(moment: Moment) -> tuple[CronView, ...]:
    """Return the cron entries, by name."""
    # What the code declares is known once the tasks are imported.
    autodiscover_modules("tasks")
    listed = Cron.objects.db_manager(moment.alias).list_crons(now=moment.now)
    return tuple(_view(one, moment) for one in listed)


def _view(one: Listed, moment: Moment) -> CronView:
    row = one.row
    abandoned = row.declared and row.name not in declared_entries()
    next_tick, error = _upcoming(one, moment.now) if row.enabled and not abandoned else (None, None)
    late = next_tick is not None and one.last_tick is not None and next_tick <= moment.now
    return CronView(
        name=row.name, expression=row.expression, zone=row.zone, task=row.task, enabled=row.enabled,
        declared=row.declared, abandoned=abandoned, last_tick=one.last_tick, next_tick=next_tick, error=error,
        late_seconds=moment.seconds_since(next_tick) if late and next_tick else None,
    )  # fmt: skip


def _upcoming(one: Listed, now: dt.datetime) -> tuple[dt.datetime | None, str | None]:
    try:
        return _next_after(one.row.expression, one.row.zone, one.last_tick or now), None
    except InvalidCron as error:
        return None, str(error)


# A tick that is far ahead takes long to find, and is the same at every look.
@lru_cache(maxsize=1024)
def _next_after(expression: str, zone: str, after: dt.datetime) -> dt.datetime | None:
    return CronSpec(expression, zone).next_after(after)
