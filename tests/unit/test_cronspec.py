"""When cron entries tick: held against Vixie's loop over every change of the clock, and at what has to be refused."""

from __future__ import annotations

import datetime as dt
import pickle
import random
from zoneinfo import ZoneInfo

import pytest

from conveyor_django.cronspec import CronSpec
from conveyor_django.errors import InvalidCron

from ..support import vixie

HOUR, DAY = dt.timedelta(hours=1), dt.timedelta(days=1)


def utc(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)  # type: ignore[misc,arg-type]


def local(spec: CronSpec, after: dt.datetime, until: dt.datetime) -> list[str]:
    """Return the ticks as the wall clock shows them, with the offset."""
    return [f"{spec.local(tick):%d %H:%M %z}" for tick in spec.ticks(after, until)]


# -- against Vixie's loop ----------------------------------------------------------------------------------------

# A day and a half around each change: into and out of summer time; half an hour; the day that Samoa skipped; the hour
# that Samoa set back; a zone that changed by 40 minutes, once; one that lived a day twice.
CHANGES = {
    "Berlin forward": ("Europe/Berlin", utc(2026, 3, 29, 1)),
    "Berlin back": ("Europe/Berlin", utc(2026, 10, 25, 1)),
    "New York forward": ("America/New_York", utc(2026, 3, 8, 7)),
    "New York back": ("America/New_York", utc(2026, 11, 1, 6)),
    "Lord Howe forward": ("Australia/Lord_Howe", utc(2026, 10, 3, 15, 30)),
    "Lord Howe back": ("Australia/Lord_Howe", utc(2026, 4, 4, 15)),
    "Apia's skipped day": ("Pacific/Apia", utc(2011, 12, 30, 10)),
    "Apia forward": ("Pacific/Apia", utc(2011, 9, 24, 14)),
    "Apia back": ("Pacific/Apia", utc(2012, 3, 31, 14)),
    "Kwajalein's repeated day": ("Pacific/Kwajalein", utc(1969, 9, 30, 13)),
}
EXPRESSIONS = [
    # Fixed times: in the gap and the fold, at their ends, around them, in lists and steps.
    "30 2 * * *", "0 2 * * *", "0 3 * * *", "30 1 * * *", "15,45 1-3 * * *", "0-59/20 0-23 * * *", "0 0 * * *",
    "0 6 30 12 *", "30 2 1 * 0",
    # Wildcards: minute, hour, both, with steps.
    "* * * * *", "*/30 * * * *", "30 * * * *", "15 */2 * * *", "*/15 2 * * *", "*/30 2 30 12 *", "10 * 29 3 0",
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_hour_by_hour_over_a_change_as_vixie_s_loop(expression: str, change: str) -> None:
    zone, at = CHANGES[change]
    spec = CronSpec(expression, zone)
    start = at.replace(minute=0) - 26 * HOUR
    hours = [start + n * HOUR for n in range(54)]
    expected = vixie.ticks(expression, zone, start + vixie.MINUTE, hours[-1] + vixie.MINUTE)
    found = [list(spec.ticks(after, after + HOUR)) for after in hours[:-1]]
    assert [tick for ticks in found for tick in ticks] == expected
    for after, ticks in zip(hours, found, strict=False):
        assert all(after < tick <= after + HOUR for tick in ticks)
    # From any instant on it is the same story.
    after = random.Random(f"{expression} {change}").choice(hours[:30]) + dt.timedelta(minutes=17, seconds=3)  # noqa: S311
    assert list(spec.ticks(after, hours[-1])) == [tick for tick in expected if tick > after]


def test_the_changes_are_where_the_test_takes_them_to_be() -> None:
    for zone, at in CHANGES.values():
        tz = ZoneInfo(zone)
        assert (at - vixie.MINUTE).astimezone(tz).utcoffset() != at.astimezone(tz).utcoffset(), (zone, at)


# -- the rules, in words -----------------------------------------------------------------------------------------


def test_a_daily_job_in_the_gap_runs_once_at_its_end() -> None:
    spec = CronSpec("30 2 * * *", "Europe/Berlin")
    assert local(spec, utc(2026, 3, 28), utc(2026, 3, 31)) == ["28 02:30 +0100", "29 03:00 +0200", "30 02:30 +0200"]


def test_several_in_one_gap_are_one_tick_together_with_what_is_due_at_its_end() -> None:
    spec = CronSpec("0,15,30 2,3 * * *", "Europe/Berlin")
    ticks = local(spec, utc(2026, 3, 29), utc(2026, 3, 29, 12))
    assert ticks == ["29 03:00 +0200", "29 03:15 +0200", "29 03:30 +0200"]


def test_a_daily_job_in_the_fold_runs_at_its_first_pass() -> None:
    spec = CronSpec("30 2 * * *", "Europe/Berlin")
    assert local(spec, utc(2026, 10, 24, 12), utc(2026, 10, 26)) == ["25 02:30 +0200"]
    # Also for who looks between the two passes.
    assert local(spec, utc(2026, 10, 25, 0, 45), utc(2026, 10, 26)) == []


def test_a_wildcard_runs_in_real_time() -> None:
    spec = CronSpec("30 * * * *", "Europe/Berlin")
    back = local(spec, utc(2026, 10, 24, 23), utc(2026, 10, 25, 2))
    assert back == ["25 01:30 +0200", "25 02:30 +0200", "25 02:30 +0100"]
    forward = local(spec, utc(2026, 3, 29, 0), utc(2026, 3, 29, 2))
    assert forward == ["29 01:30 +0100", "29 03:30 +0200"]


def test_samoa_s_skipped_day_has_one_tick_at_its_end() -> None:
    spec = CronSpec("0 6 * * *", "Pacific/Apia")
    ticks = local(spec, utc(2011, 12, 28), utc(2012, 1, 1, 0))
    assert ticks == ["28 06:00 -1000", "29 06:00 -1000", "31 00:00 +1400", "31 06:00 +1400", "01 06:00 +1400"]


def test_seconds_are_a_sixth_field() -> None:
    spec = CronSpec("0 0 * * * 58,59")
    assert list(spec.ticks(utc(2026, 1, 1), utc(2026, 1, 2))) == [utc(2026, 1, 1, 0, 0, 58), utc(2026, 1, 1, 0, 0, 59)]
    assert CronSpec("* * * * * *").upcoming(2, after=utc(2026, 1, 1)) == [
        utc(2026, 1, 1, 0, 0, 1), utc(2026, 1, 1, 0, 0, 2),
    ]  # fmt: skip
    # A fixed hour's seconds, all in the gap.
    gap = list(CronSpec("30 2 * * * *", "Europe/Berlin").ticks(utc(2026, 3, 29), utc(2026, 3, 29, 12)))
    assert gap == [utc(2026, 3, 29, 1)]
    assert len(list(CronSpec("* * * * * *", "Europe/Berlin").ticks(utc(2026, 10, 25), utc(2026, 10, 25, 2)))) == 7200


@pytest.mark.parametrize(
    ("expression", "same"),
    [
        ("@yearly", "0 0 1 1 *"), ("@annually", "0 0 1 1 *"), ("@monthly", "0 0 1 * *"), ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"), ("@midnight", "0 0 * * *"), ("@hourly", "0 * * * *"), (" @Daily ", "0 0 * * *"),
        ("0 6 * * mon", "0 6 * * 1"), ("0 6 * JAN-mar Mon,FRI", "0 6 * 1-3 1,5"), ("0  6\t* * 7", "0 6 * * 0"),
    ],
)  # fmt: skip
def test_names(expression: str, same: str) -> None:
    names, numbers = CronSpec(expression, "Europe/Berlin"), CronSpec(same, "Europe/Berlin")
    assert names.upcoming(20, after=utc(2026, 1, 1)) == numbers.upcoming(20, after=utc(2026, 1, 1))
    assert names.is_wildcard == numbers.is_wildcard


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        # Day of month or day of week, where both are given: the 13th, and every Friday.
        ("0 0 13 * fri", [2, 9, 13, 16, 23, 30]),
        # A star with a step is still a star: both have to match.
        ("0 0 */2 * fri", [9, 23]),
        ("0 0 13 * */5", []),
        ("0 0 13 * *", [13]),
        ("0 0 * * fri", [2, 9, 16, 23, 30]),
    ],
)
def test_day_of_month_or_day_of_week(expression: str, days: list[int]) -> None:
    ticks = CronSpec(expression).ticks(utc(2025, 12, 31, 12), utc(2026, 1, 31, 12))
    assert [tick.day for tick in ticks] == days


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_days_as_the_oracle_s(expression: str) -> None:
    start, end = utc(2026, 3, 28), utc(2026, 3, 31)
    spec = CronSpec(expression)
    expected = vixie.ticks(expression, "UTC", start, end)
    assert list(spec.ticks(start - vixie.MINUTE, end - vixie.MINUTE)) == expected


# -- bounds ------------------------------------------------------------------------------------------------------


def test_after_is_out_and_until_is_in() -> None:
    spec = CronSpec("* * * * *")
    at = utc(2026, 1, 1, 10)
    assert list(spec.ticks(at, at)) == []
    assert list(spec.ticks(at - dt.timedelta(microseconds=1), at)) == [at]
    assert list(spec.ticks(at, at + vixie.MINUTE)) == [at + vixie.MINUTE]
    assert list(spec.ticks(at, at - DAY)) == []


def test_instants_are_aware_and_utc_whatever_is_asked_in() -> None:
    after = dt.datetime(2026, 1, 1, 1, tzinfo=ZoneInfo("Europe/Berlin"))
    [tick] = CronSpec("0 6 * * *", "Europe/Berlin").upcoming(1, after=after)
    assert (tick, tick.tzinfo) == (utc(2026, 1, 1, 5), dt.UTC)


def test_rare_ones_are_found() -> None:
    assert CronSpec("0 0 29 2 *").upcoming(2, after=utc(2026, 1, 1)) == [utc(2028, 2, 29), utc(2032, 2, 29)]
    # 29 February, and a Sunday.
    assert CronSpec("0 0 29 2 */7").next_after(utc(2032, 3, 1)) == utc(2060, 2, 29)


def test_the_ends_of_time_are_no_error() -> None:
    spec = CronSpec("@yearly", "Europe/Berlin")
    assert spec.next_after(dt.datetime.max.replace(tzinfo=dt.UTC)) is None
    assert spec.next_after(dt.datetime.min.replace(tzinfo=dt.UTC)) is not None
    assert len(spec.newest(3, after=dt.datetime.min.replace(tzinfo=dt.UTC), until=utc(2026, 1, 2))) == 3


@pytest.mark.parametrize(
    ("expression", "after", "until"),
    [
        ("* * * * *", utc(2026, 1, 1), utc(2026, 1, 1, 5)),
        ("* * * * * *", utc(2026, 1, 1), utc(2026, 1, 1, 2)),
        ("0 6 * * mon", utc(2020, 1, 1), utc(2026, 1, 1)),
        # Long nothing, then very many.
        ("* 23 1 1 * *", utc(2025, 1, 2), utc(2026, 12, 31)),
        ("* 0 1 1 * *", utc(2025, 1, 1, 0, 30), utc(2026, 1, 1, 0, 1)),
        ("0 6 * * *", utc(2026, 1, 1), utc(2026, 1, 1, 5)),
    ],
)
@pytest.mark.parametrize("count", [1, 7, 100])
def test_the_newest_are_the_last(expression: str, after: dt.datetime, until: dt.datetime, count: int) -> None:
    spec = CronSpec(expression)
    assert spec.newest(count, after=after, until=until) == list(spec.ticks(after, until))[-count:]


def test_a_year_of_seconds_is_not_gone_through() -> None:
    taken = 0

    class Counting(CronSpec):
        def ticks(self, after: dt.datetime, until: dt.datetime):  # type: ignore[no-untyped-def]
            nonlocal taken
            for tick in CronSpec.ticks(self, after, until):
                taken += 1
                yield tick

    newest = Counting("* * * * * *").newest(100, after=utc(2020, 1, 1), until=utc(2026, 1, 1))
    assert (len(newest), newest[-1]) == (100, utc(2026, 1, 1))
    assert taken < 2000


# -- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("0 6 * *", "it has 4 fields, not 5 or 6"),
        ("", "it has 0 fields, not 5 or 6"),
        ("0 0 1 1 * 0 2030", "it has 7 fields, not 5 or 6"),
        ("60 * * * *", "out of range"),
        ("* * * * mun", "is not acceptable"),
        ("*/0 * * * *", "step '0'"),
        ("@reboot", "known names are @yearly"),
        ("h 6 * * *", "times by chance"),
        ("r(0-5)/2 6 * * *", "times by chance"),
        (None, "must be text"),
        ("* " * 300, "must be text of at most 500 characters"),
    ],
)
def test_an_expression_that_cannot_be_read(expression: str, reason: str) -> None:
    with pytest.raises(InvalidCron, match="cannot be read") as caught:
        CronSpec(expression)
    assert reason in str(caught.value)
    assert "The fields are: minute hour day-of-month" in str(caught.value)
    assert caught.value.field == "expression"


@pytest.mark.parametrize("expression", ["0 0 31 2 *", "0 0 30 feb *", "0 0 31 4,6,9,11 *"])
def test_an_expression_that_never_matches(expression: str) -> None:
    with pytest.raises(InvalidCron, match=r"never matches: there is no such day") as caught:
        CronSpec(expression)
    assert repr(expression) in str(caught.value)


@pytest.mark.parametrize("zone", ["Europe/Atlantis", "Europe", "", "../etc/passwd", "/etc/passwd", "a\x00b", 5, None])
def test_a_zone_that_is_not_known(zone: str) -> None:
    with pytest.raises(InvalidCron, match="pip install tzdata") as caught:
        CronSpec("* * * * *", zone)
    assert repr(zone) in str(caught.value)
    assert caught.value.field == "zone"


def test_a_zone_that_is_nearly_right() -> None:
    with pytest.raises(InvalidCron, match="Did you mean 'Europe/Berlin'"):
        CronSpec("* * * * *", "Europe/Berlni")


def test_the_error_can_cross_a_process() -> None:
    with pytest.raises(InvalidCron) as caught:
        CronSpec("x")
    copy = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (str(copy), copy.field) == (str(caught.value), "expression")
