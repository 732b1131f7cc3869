"""What becomes of ticks: missed ones, their keys, and when their jobs run."""

from __future__ import annotations

import datetime as dt

import pytest

from conveyor_django.cronrules import (
    COUNTED,
    LATE,
    MAX_JITTER,
    CronPolicy,
    check_name,
    due_ticks,
    policy_from,
    run_at,
    tick_key,
)
from conveyor_django.cronspec import CronSpec
from conveyor_django.errors import InvalidCron
from conveyor_django.states import Missed, Overlap

EVERY_MINUTE = CronSpec("* * * * *")
AT = dt.datetime(2026, 1, 1, 10, tzinfo=dt.UTC)


def minutes(count: float) -> dt.timedelta:
    return dt.timedelta(minutes=count)


def due(missed: Missed, after: dt.datetime, now: dt.datetime, **policy: object) -> tuple[list[int], int] | None:
    """Return the minutes past AT of the ticks to enqueue, and how many were dropped."""
    given = CronPolicy(missed=missed, **policy)  # type: ignore[arg-type]
    found = due_ticks(EVERY_MINUTE, given, after=after, now=now)
    if found is None:
        return None
    assert found.newest <= now
    return [int((tick - AT) / minutes(1)) for tick in found.ticks], found.dropped


@pytest.mark.parametrize("missed", Missed)
class TestNothingMissed:
    def test_none_is_due(self, missed: Missed) -> None:
        assert due(missed, AT, AT + minutes(0.99)) is None
        assert due(missed, AT, AT) is None
        assert due(missed, AT, AT - minutes(5)) is None

    @pytest.mark.parametrize("late", [dt.timedelta(0), LATE])
    def test_one_is_due(self, missed: Missed, late: dt.timedelta) -> None:
        spec = CronSpec("0 * * * *")
        found = due_ticks(spec, CronPolicy(missed=missed), after=AT - minutes(60), now=AT + late)
        assert found is not None
        assert (found.ticks, found.newest, found.dropped) == ([AT], AT, 0)


class TestMissed:
    def test_skip_drops_all_but_one_that_is_on_time(self) -> None:
        assert due(Missed.SKIP, AT, AT + minutes(3.5)) == ([3], 2)

    def test_skip_drops_also_the_newest_once_it_is_a_minute_old(self) -> None:
        found = due_ticks(
            CronSpec("0 * * * *"), CronPolicy(missed=Missed.SKIP), after=AT - minutes(90), now=AT + minutes(1.01)
        )
        assert found is not None
        assert (found.ticks, found.newest, found.dropped) == ([], AT, 2)

    def test_latest_is_enqueued_however_late(self) -> None:
        assert due(Missed.LATEST, AT, AT + minutes(3.5)) == ([3], 2)
        found = due_ticks(CronSpec("0 * * * *"), CronPolicy(), after=AT - minutes(90), now=AT + minutes(59))
        assert found is not None
        assert (found.ticks, found.dropped) == ([AT], 1)

    def test_all_are_in_their_order(self) -> None:
        assert due(Missed.ALL, AT, AT + minutes(5)) == ([1, 2, 3, 4, 5], 0)

    def test_all_up_to_the_bound_the_newest(self) -> None:
        assert due(Missed.ALL, AT, AT + minutes(5), max_missed=2) == ([4, 5], 3)

    def test_where_the_next_must_not_overlap_one_is_enough(self) -> None:
        assert due(Missed.ALL, AT, AT + minutes(5), overlap=Overlap.SKIP) == ([5], 4)

    def test_those_dropped_are_counted_up_to_a_bound(self) -> None:
        assert due(Missed.LATEST, AT - dt.timedelta(days=300), AT) == ([0], COUNTED)


class TestKeyAndJitter:
    def test_the_key_names_entry_and_tick(self) -> None:
        assert tick_key("a:b", AT) == "conveyor:cron:a:b:2026-01-01T10:00:00Z"
        elsewhere = AT.astimezone(dt.timezone(dt.timedelta(hours=5)))
        assert tick_key("a:b", elsewhere) == tick_key("a:b", AT)

    def test_the_jitter_is_the_same_for_whoever_asks(self) -> None:
        # Written down: another process, or another Python, has to come to the same.
        assert run_at("report", AT, 60) - AT == dt.timedelta(seconds=57, microseconds=503897)
        elsewhere = AT.astimezone(dt.timezone(dt.timedelta(hours=5)))
        assert run_at("report", elsewhere, 60) == run_at("report", AT, 60)

    def test_it_lies_within_its_bound_and_is_spread(self) -> None:
        delays = [run_at("report", AT + minutes(n), 60) - AT - minutes(n) for n in range(300)]
        assert all(dt.timedelta(0) <= delay < minutes(1) for delay in delays)
        assert min(delays) < dt.timedelta(seconds=5)
        assert max(delays) > dt.timedelta(seconds=55)
        assert run_at("report", AT, 60) != run_at("other", AT, 60)

    def test_none_is_none(self) -> None:
        assert run_at("report", AT, 0.0) == AT


class TestRefused:
    @pytest.mark.parametrize(
        ("field", "value", "says"),
        [
            ("missed", "some", "missed must be one of 'skip', 'latest', 'all', not 'some'."),
            ("missed", None, "not None"),
            ("overlap", "maybe", "overlap must be one of 'allow', 'skip', not 'maybe'."),
            ("max_missed", 0, "max_missed must be a whole number from 1 to 1000, not 0."),
            ("max_missed", 1001, "not 1001"),
            ("max_missed", 1.5, "not 1.5"),
            ("max_missed", True, "not True"),
            ("max_missed", None, "not None"),
            ("jitter", -1, "jitter must be seconds from 0 to 86400, not -1."),
            ("jitter", float("nan"), "not nan"),
            ("jitter", MAX_JITTER * 2, "not 172800.0"),
            ("jitter", "5", "not '5'"),
        ],
    )
    def test_a_policy_that_cannot_be(self, field: str, value: object, says: str) -> None:
        given = {"missed": "latest", "max_missed": 100, "overlap": "allow", "jitter": 0.0} | {field: value}
        with pytest.raises(InvalidCron) as caught:
            policy_from(**given)
        assert says in str(caught.value)
        assert caught.value.field == ("jitter_seconds" if field == "jitter" else field)

    def test_texts_become_words(self) -> None:
        assert policy_from(missed="all", max_missed=1, overlap="skip", jitter=0) == CronPolicy(
            missed=Missed.ALL, max_missed=1, overlap=Overlap.SKIP, jitter=0
        )

    @pytest.mark.parametrize("name", ["", "x" * 201, "a\x00b", "\ud800", None, 7])
    def test_a_name_that_cannot_be(self, name: object) -> None:
        with pytest.raises(InvalidCron, match="1 to 200 characters"):
            check_name(name)

    def test_a_name_that_can(self) -> None:
        check_name("x" * 200)
