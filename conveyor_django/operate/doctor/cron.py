"""Whether cron entries tick."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Final

from django.utils import timezone
from django.utils.module_loading import autodiscover_modules

from ...crontab import declared_entries
from ...managers.cron import Listed
from ...models import Cron
from ...scheduler.reading import Reading
from ..fleet import Fleet
from ..wording import at, lasting
from .finding import Check, Finding, problem, warning

# Seconds that a tick may be late, beside what a scheduler takes anyway.
LATE: Final = 60.0


def entries(fleet: Fleet) -> Iterator[Finding]:
    """Find entries that cannot be read, that are late, or that have left the code."""
    # They declare entries.
    autodiscover_modules("tasks")
    declared = declared_entries()
    for one in Cron.objects.db_manager(fleet.alias).list_crons(now=fleet.now):
        if not one.row.enabled:
            continue
        if one.row.declared and one.row.name not in declared:
            yield _left(one)
        else:
            yield from _entry(one, fleet)


def _left(one: Listed) -> Finding:
    name = one.row.name
    return warning(
        "cron_left",
        f"cron entry {name!r} was written by code that declared it, and this code does not: schedulers with this "
        "code do not tick it.",
        "Delete its row in the admin, Cron entries, if it is not wanted any more; else deploy the code that "
        "declares it.",
    )


def _entry(one: Listed, fleet: Fleet) -> Iterator[Finding]:
    name = one.row.name
    reading = Reading(one.row, alias=fleet.alias, settings=fleet.settings)
    if reading.error is not None:
        yield problem(
            "cron_broken",
            f"cron entry {name!r} cannot tick: {reading.error}",
            "Correct it in the admin, Cron entries, or in the code; see manage.py conveyor_cron.",
        )
        return
    if one.last_tick is None:
        # Its first tick begins it; that it has not begun, the absence of schedulers says.
        return
    upcoming = reading.next_after(_aware(one.last_tick))
    late = 0.0 if upcoming is None else (_aware(one.now) - upcoming).total_seconds()
    if upcoming is not None and late > LATE + fleet.scheduler_patience:
        yield problem(
            "cron_late",
            f"cron entry {name!r} should have ticked at {at(upcoming)}, {lasting(late)} ago.",
            f"See that a scheduler is at work (manage.py conveyor_scheduler --database {fleet.alias}), and look into "
            "its log for cron.broken and scheduler.error.",
        )


def _aware(instant: dt.datetime) -> dt.datetime:
    # Without USE_TZ Django reads times in TIME_ZONE.
    return timezone.make_aware(instant, timezone.get_default_timezone()) if timezone.is_naive(instant) else instant


CRON: Final = Check("Every cron entry ticks.", entries)
