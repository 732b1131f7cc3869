"""Instants that every reader of the database can hold."""

from __future__ import annotations

import datetime as dt

from django.utils import timezone


def in_utc(instant: dt.datetime) -> dt.datetime:
    """Return an instant in UTC; a naive one is in the project's time zone, as in its models.

    Raises ValueError where not every reader could hold it.
    """
    try:
        if timezone.is_naive(instant):
            instant = timezone.make_aware(instant, timezone.get_default_timezone())
        # In UTC also because PostgreSQL reads no offset of 16 hours or more, which Python has.
        utc = instant.astimezone(dt.UTC)
    except OverflowError:
        utc = None
    # A session's time zone may lie up to a day off UTC, and Python's years end at 1 and 9999.
    if utc is None or not dt.MINYEAR < utc.year < dt.MAXYEAR:
        raise ValueError(f"it must be an instant of the years {dt.MINYEAR + 1} to {dt.MAXYEAR - 1} in UTC")
    return utc
