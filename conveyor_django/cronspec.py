"""When a cron entry ticks: its expression, read on the wall clock of its zone as Vixie cron reads it (rule 14).

Where the clock is changed, it depends on the entry. A *wildcard* entry, whose minute or hour begins with `*`, runs in
real time: whenever the wall clock shows a time that matches, so twice in an hour that comes again, and not at all in
one that is left out. Any other has *fixed times*, of which each counts once: in an hour that comes again the first
time, in one that is left out at its end. (Vixie cron does so for changes of up to three hours, and takes a larger one
for a correction of the clock; here it holds for changes of any length.)

croniter says which wall times match, and nothing else: zones are none of its business.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from croniter import CroniterBadDateError, croniter

from .errors import InvalidCron, describe
from .wallclock import SECOND, furthest_wall, next_change, offset_at, zone_named

FIELDS: Final = "minute hour day-of-month month day-of-week, perhaps with seconds as a sixth"
MAX_LENGTH: Final = 500

_ALIASES: Final = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip
# croniter's `h` and `r`: by a hash, and by chance, on which no two schedulers would agree.
_BY_CHANCE: Final = re.compile(r"[hr](\(.*\))?(/.*)?", re.ASCII)
# Where the search for a match begins that shows that there is one; any instant would do.
_ANY: Final = dt.datetime(2000, 1, 1)  # noqa: DTZ001 - a wall time
# Far from the ends of what datetime can hold, where sums would overflow.
_FIRST, _LAST = dt.datetime(1900, 1, 1), dt.datetime(9800, 1, 1)  # noqa: DTZ001 - UTC, as in wallclock.py
# A tick that is further ahead is none: 29 February on a Sunday comes every 40 years at the least.
_HORIZON: Final = dt.timedelta(days=100 * 366)


@dataclass(frozen=True, slots=True)
class CronSpec:
    """An expression and its zone. Raises InvalidCron, with the value and the fix, where they cannot be.

    Five fields, or six with the seconds last; names of months and days; `@daily` and its like. As in Vixie cron, day
    of month *or* day of week has to match where neither begins with `*`.
    """

    expression: str
    zone: str = "UTC"

    def __post_init__(self) -> None:
        """Refuse what cannot be read, and what never matches."""
        zone_named(self.zone)
        fields = _fields(self.expression)
        try:
            next(_matches(" ".join(fields), _ANY))
        except StopIteration:
            raise InvalidCron(
                "expression", f"cron expression {describe(self.expression)} never matches: there is no such day."
            ) from None
        except ValueError as error:
            raise InvalidCron("expression", _refusal(self.expression, str(error))) from None

    @property
    def is_wildcard(self) -> bool:
        """Whether it runs in real time: its minute or hour begins with `*`."""
        minute, hour, *_ = _fields(self.expression)
        return minute.startswith("*") or hour.startswith("*")

    def ticks(self, after: dt.datetime, until: dt.datetime) -> Iterator[dt.datetime]:
        """Yield the ticks in (after, until] as aware instants in UTC, in order; whole seconds all."""
        place, last = _bounded(after), _bounded(until)
        zone, wildcard = zone_named(self.zone), self.is_wildcard
        offset = offset_at(zone, place)
        seen = place + offset
        if not wildcard and (furthest := furthest_wall(zone, place)):
            seen = max(seen, furthest - SECOND)
        walls = self._walls(seen)
        wall = next(walls, None)
        while wall is not None:
            due = wall - offset
            change = next_change(zone, place, min(due, last), offset)
            if change is None:
                if due > last:
                    return
                yield due.replace(tzinfo=dt.UTC)
                place, wall = due, next(walls, None)
                continue
            offset = offset_at(zone, change)
            place, shown = change - SECOND, change + offset
            if wildcard:
                walls = self._walls(shown - SECOND)
                wall = next(walls, None)
            elif wall < shown:
                # Left out: once at the end of the gap, together with what is due right then.
                yield change.replace(tzinfo=dt.UTC)
                walls = self._walls(shown)
                place, wall = change, next(walls, None)

    def upcoming(self, count: int, *, after: dt.datetime) -> list[dt.datetime]:
        """Return the next `count` ticks; fewer where there are not so many within a century."""
        return list(islice(self.ticks(after, _later(after)), count))

    def next_after(self, after: dt.datetime) -> dt.datetime | None:
        """Return the next tick; None where there is none within a century."""
        return next(self.ticks(after, _later(after)), None)

    def local(self, tick: dt.datetime) -> dt.datetime:
        """Return the same instant on the clock of its zone."""
        return tick.astimezone(zone_named(self.zone))

    def newest(self, count: int, *, after: dt.datetime, until: dt.datetime) -> list[dt.datetime]:
        """Return the newest `count` ticks in (after, until], oldest first, at little cost however many there are."""
        most, width, enough = 4 * count, dt.timedelta(minutes=1), until
        while True:
            start = until - width if until - after > width else after
            ticks = self._at_most(most, start, until)
            if ticks is None:
                return self._between(start, enough, until, count)
            if len(ticks) >= count or start == after:
                return ticks[-count:]
            enough, width = start, width * 4

    def _between(self, many: dt.datetime, few: dt.datetime, until: dt.datetime, count: int) -> list[dt.datetime]:
        """Return the newest ticks, where there are too many after `many` and too few after `few`."""
        while True:
            middle = many + (few - many) / 2
            ticks = self._at_most(4 * count, middle, until)
            if ticks is None:
                many = middle
            elif len(ticks) < count:
                few = middle
            else:
                return ticks[-count:]

    def _at_most(self, most: int, after: dt.datetime, until: dt.datetime) -> list[dt.datetime] | None:
        ticks = list(islice(self.ticks(after, until), most + 1))
        return ticks if len(ticks) <= most else None

    def _walls(self, after: dt.datetime) -> Iterator[dt.datetime]:
        return _matches(" ".join(_fields(self.expression)), after)


def _matches(expression: str, after: dt.datetime) -> Iterator[dt.datetime]:
    """Yield the wall times after `after` that match; ends where there is none within 50 years."""
    # The "bug" is Vixie's: a day field that begins with `*` has to match too.
    times = croniter(expression, after, ret_type=dt.datetime, implement_cron_bug=True)
    while True:
        try:
            match: dt.datetime = times.get_next()
        except CroniterBadDateError:
            return
        yield match


def _fields(expression: Any) -> list[str]:
    if not isinstance(expression, str) or len(expression) > MAX_LENGTH:
        raise InvalidCron("expression", _refusal(expression, f"it must be text of at most {MAX_LENGTH} characters"))
    text = expression.strip().lower()
    if text.startswith("@"):
        if text not in _ALIASES:
            raise InvalidCron("expression", _refusal(expression, f"known names are {', '.join(_ALIASES)}"))
        text = _ALIASES[text]
    fields = text.split()
    if len(fields) not in {5, 6}:
        raise InvalidCron("expression", _refusal(expression, f"it has {len(fields)} fields, not 5 or 6"))
    if any(_BY_CHANCE.fullmatch(field) for field in fields):
        raise InvalidCron("expression", _refusal(expression, "times by chance (h, r) are not supported; set a jitter"))
    return fields


def _refusal(expression: Any, reason: str) -> str:
    return f"cron expression {describe(expression)} cannot be read: {reason}. The fields are: {FIELDS}."


def _bounded(instant: dt.datetime) -> dt.datetime:
    whole = instant.astimezone(dt.UTC).replace(tzinfo=None, microsecond=0)
    return min(max(whole, _FIRST), _LAST)


def _later(instant: dt.datetime) -> dt.datetime:
    return min(_bounded(instant) + _HORIZON, _LAST).replace(tzinfo=dt.UTC)
