"""The wall clock of a time zone, and when it is changed: what `zoneinfo` does not say by itself.

Instants and wall times are naive datetimes of whole seconds here: an instant is UTC, a wall time what a clock on the
wall shows then. The offset leads from the first to the second.
"""

from __future__ import annotations

import datetime as dt
import difflib
from functools import lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from .errors import InvalidCron, describe

SECOND: Final = dt.timedelta(seconds=1)
# The least time between two changes of a zone is four days, in the whole of the tz database; both of these count on it.
PROBE: Final = dt.timedelta(days=1)
# More than two offsets can be apart: a wall time that comes again comes within it.
REACH: Final = dt.timedelta(days=2)


def zone_named(name: Any) -> ZoneInfo:
    """Return the zone of that name in the tz database. Raises InvalidCron."""
    try:
        return ZoneInfo(name)
    # A folder of zones is an OSError, a path that leads elsewhere a ValueError, what is no text a TypeError.
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError, AttributeError):
        raise InvalidCron("zone", _unknown(name)) from None


def offset_at(zone: ZoneInfo, instant: dt.datetime) -> dt.timedelta:
    """Return the wall clock's offset at an instant."""
    return zone.fromutc(instant.replace(tzinfo=zone)).replace(tzinfo=None) - instant


def next_change(zone: ZoneInfo, after: dt.datetime, until: dt.datetime, offset: dt.timedelta) -> dt.datetime | None:
    """Return the first instant in (after, until] at which the offset is not `offset`, which it is before."""
    known = after
    while known < until:
        probe = min(known + PROBE, until)
        if offset_at(zone, probe) != offset:
            return _bisected(zone, known, probe, offset)
        known = probe
    return None


def furthest_wall(zone: ZoneInfo, instant: dt.datetime) -> dt.datetime | None:
    """Return the end of what the wall clock showed before its change of the last days; None if there was none.

    Where it was set back that may lie ahead of what the clock shows at `instant`.
    """
    before = instant - REACH
    offset = offset_at(zone, before)
    change = next_change(zone, before, instant, offset)
    return None if change is None else change + offset


def _bisected(zone: ZoneInfo, before: dt.datetime, behind: dt.datetime, offset: dt.timedelta) -> dt.datetime:
    while (width := behind - before) > SECOND:
        middle = before + width // 2 // SECOND * SECOND
        if offset_at(zone, middle) == offset:
            before = middle
        else:
            behind = middle
    return behind


def _unknown(name: Any) -> str:
    known = _known()
    close = difflib.get_close_matches(name, known, n=1) if isinstance(name, str) else []
    hint = f"Did you mean {close[0]!r}?" if close else "Give a name of the tz database, such as 'Europe/Berlin'."
    return f"time zone {describe(name)} is unknown. {hint} Where this machine lacks a zone: `pip install tzdata`."


@lru_cache(maxsize=1)
def _known() -> list[str]:
    return sorted(available_timezones())
