"""Any expression, in any zone, around any change of its clock: the ticks of Vixie's loop."""

from __future__ import annotations

import datetime as dt
from functools import cache
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from conveyor_django.cronspec import CronSpec
from conveyor_django.errors import InvalidCron

from ..support import vixie

HOUR = dt.timedelta(hours=1)
# Changes by an hour, half an hour, 45 minutes past; none; two in one month (Ramadan); a whole day; abroad in date.
ZONES = [
    "Europe/Berlin", "America/New_York", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Chatham", "Asia/Kolkata",
    "Africa/Casablanca", "Pacific/Apia", "America/Sao_Paulo", "Asia/Tehran", "UTC",
]  # fmt: skip
FIELDS = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]


def parts(low: int, high: int) -> st.SearchStrategy[str]:
    """Return parts of a field: a number, a range, either with a step."""
    number = st.integers(low, high)
    step = st.integers(1, high)
    span = st.tuples(number, number).map(lambda ends: f"{min(ends)}-{max(ends)}")
    return number.map(str) | span | st.tuples(span, step).map(lambda part: f"{part[0]}/{part[1]}")


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    """Return fields: a star, mostly; a star with a step; a list."""
    star = st.just("*")
    several = st.lists(parts(low, high), min_size=1, max_size=3).map(",".join)
    return star | star | st.integers(1, high).map("*/{}".format) | several


expressions = st.tuples(*(fields(*bounds) for bounds in FIELDS)).map(" ".join)


@cache
def changes(zone: str) -> list[dt.datetime]:
    """Return the days of 2008 to 2027 in which a zone's clock changes, as their first instants; else those of 2027."""
    tz = ZoneInfo(zone)
    days = [dt.datetime(2008, 1, 1, tzinfo=dt.UTC) + number * 24 * HOUR for number in range(20 * 365)]
    offsets = [day.astimezone(tz).utcoffset() for day in days]
    found = [day for day, one, next_ in zip(days, offsets, offsets[1:], strict=False) if one != next_]
    return found or days[-365:]


windows = st.sampled_from(ZONES).flatmap(
    lambda zone: st.tuples(
        st.just(zone), st.sampled_from(changes(zone)), st.integers(-12 * 3600, 26 * 3600), st.integers(1, 16 * 3600)
    )
)


@given(expression=expressions, window=windows, count=st.integers(1, 5))
def test_it_ticks_as_vixie_s_loop(expression: str, window: tuple[str, dt.datetime, int, int], count: int) -> None:
    zone, change, begin, seconds = window
    after = change + dt.timedelta(seconds=begin)
    until = after + dt.timedelta(seconds=seconds)
    try:
        spec = CronSpec(expression, zone)
    except InvalidCron:
        assert not has_a_day(expression)
        return
    first = after.replace(second=0) + vixie.MINUTE
    expected = [tick for tick in vixie.ticks(expression, zone, first, until + vixie.MINUTE) if tick <= until]
    assert list(spec.ticks(after, until)) == expected
    assert spec.newest(count, after=after, until=until) == expected[-count:]
    if expected:
        assert spec.next_after(after) == expected[0]


def has_a_day(expression: str) -> bool:
    """Say whether some day of 28 years, in which everything comes round, matches."""
    _, _, *days = expression.split()
    day = dt.datetime(2000, 1, 1)  # noqa: DTZ001 - a wall's
    return any(
        vixie.matches(" ".join(["*", "*", *days]), day + dt.timedelta(days=number)) for number in range(28 * 366)
    )  # fmt: skip
