"""What the operating commands take on their command lines."""

from __future__ import annotations

import datetime as dt
from argparse import ArgumentTypeError

import pytest
from pytest_django import Settings

from conveyor_django.management.arguments import age, json_list, moment, rate, seconds
from conveyor_django.management.base import counted

HOUR = dt.timedelta(hours=1)


@pytest.mark.parametrize(
    ("text", "length"),
    [("0s", dt.timedelta()), ("90s", dt.timedelta(seconds=90)), ("1.5h", 1.5 * HOUR), ("15m", HOUR / 4),
     ("2d", 48 * HOUR), ("1w", 7 * 24 * HOUR)],
)  # fmt: skip
def test_ages(text: str, length: dt.timedelta) -> None:
    assert age(text) == moment(text) == length


@pytest.mark.parametrize(
    "text", ["", "5", "-5s", "5 s", "5S", "1e3s", "nans", "99999999d", "999999999w", "36526d", "٣s", "5s\n", "1h30m"]
)
def test_what_is_no_age(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="must be a number with s, m, h, d or w"):
        age(text)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-11-30T14:00+01:00", dt.datetime(2026, 11, 30, 13, tzinfo=dt.UTC)),
        ("2026-11-30 14:00:00Z", dt.datetime(2026, 11, 30, 14, tzinfo=dt.UTC)),
        ("2026-11-30T14:00", dt.datetime(2026, 11, 30, 13, tzinfo=dt.UTC)),
        ("2026-07-01", dt.datetime(2026, 6, 30, 22, tzinfo=dt.UTC)),
    ],
)
def test_instants_are_in_the_project_s_zone_unless_they_name_one(
    settings: Settings, text: str, instant: dt.datetime
) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    assert moment(text) == instant


def test_without_zones_they_are_naive(settings: Settings) -> None:
    settings.USE_TZ, settings.TIME_ZONE = False, "Europe/Berlin"
    assert moment("2026-11-30T14:00") == moment("2026-11-30T13:00Z") == dt.datetime(2026, 11, 30, 14)  # noqa: DTZ001


def test_an_offset_that_postgresql_does_not_read_is_told_in_utc() -> None:
    instant = moment("2026-11-30T14:00+23:59")
    assert isinstance(instant, dt.datetime)
    assert instant.utcoffset() == dt.timedelta()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("yesterday", "not 'yesterday'"),
        ("", "not ''"),
        ("2026-13-01", "'2026-13-01' is no instant: month must be in 1..12"),
        ("2026-02-30T10:00", "is no instant: day is out of range"),
        ("0000-01-01", "is no instant"),
        ("9999-12-31T23:59:59-23:59", "is no instant: it must be an instant of the years 2 to 9998 in UTC"),
        ("0001-01-01", "of the years 2 to 9998"),
        ("99999999d", "must be an instant|must be a number with"),
    ],
)
def test_what_is_no_instant(text: str, says: str) -> None:
    with pytest.raises(ArgumentTypeError, match=says):
        moment(text)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "x", ""])
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="must be a number above 0"):
        rate(text)


@pytest.mark.parametrize("text", ["-1", "nan", "86401", "x"])
def test_what_is_no_wait(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="must be a number of seconds from 0 to 86,400"):
        seconds(text)


def test_numbers_that_are_fine() -> None:
    assert (rate("0.5"), seconds("0"), seconds("1.5")) == (0.5, 0.0, 1.5)


def test_a_long_text_that_is_no_json_is_cut() -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        json_list("x" * 100_000)
    assert len(str(caught.value)) < 400


def test_numbers_with_their_noun() -> None:
    said = [counted(0), counted(1), counted(1200), counted(2, "session"), counted(11, bounded_by=10)]
    assert said == ["0 jobs", "1 job", "1,200 jobs", "2 sessions", "more than 10 jobs"]
