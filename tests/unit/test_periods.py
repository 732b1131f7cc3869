"""Spans of time as the list of jobs takes them."""

from __future__ import annotations

import datetime as dt

import pytest
from django.utils import timezone

from conveyor_django.admin import periods
from conveyor_django.admin.periods import Period, parse_period

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


@pytest.fixture(autouse=True)
def _now(monkeypatch):
    monkeypatch.setattr(periods.timezone, "now", lambda: NOW)


@pytest.mark.parametrize(
    ("text", "before"),
    [("15m", dt.timedelta(minutes=15)), (" 1h ", dt.timedelta(hours=1)), ("7d", dt.timedelta(days=7))],
)
def test_the_past(text, before):
    assert parse_period(text) == Period(NOW - before, None)


def test_from_one_instant_to_another():
    start, end = dt.datetime(2026, 1, 31, 8, tzinfo=dt.UTC), dt.datetime(2026, 1, 31, 9, 30, tzinfo=dt.UTC)
    assert parse_period("2026-01-31 08:00..2026-01-31T09:30Z") == Period(start, end)
    assert parse_period("..2026-01-31 10:30+01:00") == Period(None, end)
    assert parse_period("2026-01-31..") == Period(dt.datetime(2026, 1, 31, tzinfo=dt.UTC), None)


def test_without_a_zone_it_is_the_project_s():
    with timezone.override("Asia/Tokyo"):
        start = parse_period("2026-01-31 08:00..").start
    assert start == dt.datetime(2026, 1, 30, 23, tzinfo=dt.UTC)


def test_an_offset_that_postgresql_does_not_read_is_told_in_utc():
    assert parse_period("2026-01-31 23:00+23:00..").start.utcoffset() == dt.timedelta()


@pytest.mark.parametrize(
    "text",
    ["", "..", "x", "1", "0h", "-1h", "1y", "999999d", "2026-01-31", "2026-02-30..", "0001-01-01..", "9999-12-31..",
     "9998-12-31 23:00-02:00..", "..0002-01-01 01:00+02:00",
     "2026-01-31..x", "1h..", "٣h", "2026-01-31 25:00..", "' OR 1=1", "\x00"],
)  # fmt: skip
def test_what_is_no_period_is_refused_with_the_fix(text):
    with pytest.raises(ValueError, match=r"is no span of time. Give the past 15m, 1h or 7d"):
        parse_period(text)
