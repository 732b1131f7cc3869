"""What the operating commands take on their command lines, read the same everywhere."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from argparse import ArgumentTypeError
from typing import Any, Final

from django.conf import settings
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from ..instants import in_utc

# Either an instant, or how long ago it is.
Moment = dt.datetime | dt.timedelta

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_AGE: Final = re.compile(r"(?P<number>\d{1,9}(\.\d{1,6})?)(?P<unit>[smhdw])", re.ASCII)
_DAY: Final = 86_400
# A century: beyond it, instants leave the years that there are.
_LONGEST: Final = 36_525 * _DAY


def age(text: str) -> dt.timedelta:
    """Return a length of time: ``90s``, ``15m``, ``2h``, ``3d`` or ``1w``."""
    match = _AGE.fullmatch(text)
    length = float(match["number"]) * _SECONDS[match["unit"]] if match else math.inf
    if length > _LONGEST:
        raise ArgumentTypeError(
            f"must be a number with s, m, h, d or w, such as 90s, 15m or 2d, of a century at most, not {text!r}"
        )
    return dt.timedelta(seconds=length)


def moment(text: str) -> Moment:
    """Return an instant, or a length of time that lies between it and now.

    ``2026-11-30``, ``2026-11-30T14:00`` (the project's time zone), ``2026-11-30T14:00+01:00``; or as for `age`.
    """
    if _AGE.fullmatch(text):
        return age(text)
    try:
        instant = parse_datetime(text)
        if instant is None and (day := parse_date(text)) is not None:
            instant = dt.datetime.combine(day, dt.time())
        if instant is not None:
            return _for_django(instant)
    # What reads like one and is none: the 30th of February, or an instant beyond the years that there are.
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no instant: {error}") from error
    raise ArgumentTypeError(
        f"must be an instant, such as 2026-11-30T14:00 or 2026-11-30T14:00+01:00, or how long ago it is, such as "
        f"90s, 15m or 2d, not {text!r}"
    )


def rate(text: str) -> float:
    """Return how many in a second."""
    number = _number(text)
    if not 0 < number < math.inf:
        raise ArgumentTypeError(f"must be a number above 0, of jobs in a second, not {text!r}")
    return number


def seconds(text: str) -> float:
    """Return how many seconds to wait at most."""
    number = _number(text)
    if not 0 <= number <= _DAY:
        raise ArgumentTypeError(f"must be a number of seconds from 0 to {_DAY:,}, not {text!r}")
    return number


def json_list(text: str) -> list[Any]:
    """Return positional arguments."""
    value = _json(text)
    if not isinstance(value, list):
        raise ArgumentTypeError(f"must be a JSON list, such as '[42, \"Ada\"]', not {text!r}")
    return value


def json_object(text: str) -> dict[str, Any]:
    """Return keyword arguments."""
    value = _json(text)
    if not isinstance(value, dict):
        raise ArgumentTypeError(f'must be a JSON object, such as \'{{"name": "Ada"}}\', not {text!r}')
    return value


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    # A text of 100,000 brackets is too deep for the parser.
    except (ValueError, RecursionError) as error:
        raise ArgumentTypeError(f"is no JSON: {error}; got {text[:200]!r}") from error


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _for_django(instant: dt.datetime) -> dt.datetime:
    """Return the instant in the form that the project's models have."""
    utc = in_utc(instant)
    if settings.USE_TZ:
        return utc
    return instant if timezone.is_naive(instant) else timezone.make_naive(utc)
