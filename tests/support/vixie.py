"""Vixie cron, played minute by minute: an oracle that shares nothing with the code under test.

It reads a simple grammar itself (numbers, `*`, ranges, steps, lists), and goes over the real minutes as Vixie's loop
does: with a clock of its own (`virtual`) that runs through what the wall clock left out, and stands still until the
wall clock has caught up where that was set back. Unlike Vixie it does so for changes of any length.
"""

from __future__ import annotations

import datetime as dt
from functools import cache
from zoneinfo import ZoneInfo

MINUTE = dt.timedelta(minutes=1)
_LOW_HIGH = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def ticks(expression: str, zone: str, start: dt.datetime, end: dt.datetime) -> list[dt.datetime]:
    """Return the instants in [start, end) at which Vixie's loop runs the entry; both are whole minutes."""
    tz = ZoneInfo(zone)
    wildcard = any(field.startswith("*") for field in expression.split()[:2])
    found = []
    # A day and an hour earlier, so that the virtual clock is what it would be: no change here is larger.
    instant = start - dt.timedelta(hours=25)
    virtual = _wall(instant - MINUTE, tz)
    while instant < end:
        wall = _wall(instant, tz)
        if wildcard:
            runs = matches(expression, wall)
        else:
            runs = False
            while virtual < wall:
                virtual += MINUTE
                runs = matches(expression, virtual) or runs
        if runs and instant >= start:
            found.append(instant)
        instant += MINUTE
    return found


def matches(expression: str, wall: dt.datetime) -> bool:
    """Say whether a wall time matches; day of month or day of week, where neither begins with a star."""
    fields = expression.split()
    minutes, hours, days, months, weekdays = (
        _values(field, *bounds) for field, bounds in zip(fields, _LOW_HIGH, strict=True)
    )
    if wall.minute not in minutes or wall.hour not in hours or wall.month not in months:
        return False
    # 1 to 7, of which Sunday, the last, is 0 too.
    day, weekday = wall.day in days, not {wall.isoweekday(), wall.isoweekday() % 7}.isdisjoint(weekdays)
    either = not fields[2].startswith("*") and not fields[4].startswith("*")
    return day or weekday if either else day and weekday


@cache
def _values(field: str, low: int, high: int) -> set[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        begin, end = (low, high) if span == "*" else (int(first), int(last or first))
        found.update(range(begin, end + 1, int(step or 1)))
    return found


def _wall(instant: dt.datetime, tz: ZoneInfo) -> dt.datetime:
    return instant.astimezone(tz).replace(tzinfo=None)
