"""Spans of time as a list's URL has them: ``1h``, or from one instant to another."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final, NamedTuple

from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from ..errors import describe
from ..instants import in_utc

CHOICES: Final = (("1h", "Past hour"), ("1d", "Past day"), ("7d", "Past 7 days"))
PLACEHOLDER: Final = "2026-01-31 08:00..2026-01-31 09:00"
_PAST: Final = re.compile(r"([1-9][0-9]{0,4})([mhd])", re.ASCII)
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}


class Period(NamedTuple):
    """From an instant on and until before another; None for open ends."""

    start: dt.datetime | None
    end: dt.datetime | None


def parse_period(text: str) -> Period:
    """Return the period that the text says. Raises ValueError with what would be right."""
    given = text.strip()
    if past := _PAST.fullmatch(given):
        return Period(timezone.now() - dt.timedelta(**{_UNITS[past[2]]: int(past[1])}), None)
    start, dots, end = given.partition("..")
    if not dots or not (start or end):
        raise ValueError(_refusal(text))
    return Period(_instant(start, text), _instant(end, text))


def _instant(part: str, text: str) -> dt.datetime | None:
    """Return the instant that a part of the text says; where it names no zone, in the project's."""
    part = part.strip()
    if not part:
        return None
    try:
        instant = parse_datetime(part)
        if instant is None:
            day = parse_date(part)
            instant = None if day is None else dt.datetime.combine(day, dt.time())
        if instant is not None and timezone.is_naive(instant):
            instant = timezone.make_aware(instant)
        if instant is not None:
            return in_utc(instant)
    except (ValueError, OverflowError):
        pass  # Well formed, but no such day or time.
    raise ValueError(_refusal(text))


def _refusal(text: str) -> str:
    return (
        f"{describe(text)} is no span of time. Give the past 15m, 1h or 7d, or two instants such as {PLACEHOLDER}; "
        f"one of the two may be left out."
    )
