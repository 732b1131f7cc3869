"""declare_crons: the code's entries as rows; whether they are enabled is the user's."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from conveyor_django.managers.cron import CronRow
from conveyor_django.models import Cron

from ..support.factories import CronFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db

EARLIER = NOW - dt.timedelta(hours=1)
ROW = CronRow(
    name="a", expression="5 4 * * *", zone="Europe/Berlin", task="t.a", args='[1, "x"]', kwargs='{"n": 1.5}', queue="q",
    declared=True, missed="all", max_missed=7, overlap="skip", jitter_seconds=2.5,
)  # fmt: skip


def declare(*rows: CronRow) -> dict[str, str]:
    return Cron.objects.declare_crons(rows, now=NOW)


def rows() -> list[CronRow]:
    return [one.row for one in Cron.objects.list_crons()]


def test_nothing_given() -> None:
    assert declare() == {}


def test_new_ones_are_inserted() -> None:
    other = replace(ROW, name="b", queue=None)
    assert declare(other, ROW) == {"a": "inserted", "b": "inserted"}
    assert rows() == [ROW, other]
    assert set(Cron.objects.values_list("created_at", "last_tick", "last_job_id")) == {(NOW, None, None)}


def test_numbers_as_people_write_them() -> None:
    assert declare(replace(ROW, jitter_seconds=5), replace(ROW, name="b", max_missed=3.0)) == {  # type: ignore[arg-type]
        "a": "inserted", "b": "inserted",
    }  # fmt: skip
    assert declare(replace(ROW, jitter_seconds=5)) == {"a": "same"}


def test_a_second_time_changes_nothing() -> None:
    declare(ROW)
    Cron.objects.update(last_tick=EARLIER, last_job_id=7)
    before = Cron.objects.values().get()
    assert declare(ROW) == {"a": "same"}
    assert Cron.objects.values().get() == before


@pytest.mark.parametrize(
    "change",
    [
        {"expression": "* * * * *"}, {"zone": "UTC"}, {"task": "t.b"}, {"args": "[]"}, {"kwargs": "{}"},
        {"queue": None}, {"missed": "skip"}, {"max_missed": 8}, {"overlap": "allow"}, {"jitter_seconds": 0.0},
    ],
    ids=str,
)  # fmt: skip
def test_what_has_changed_is_written(change: dict[str, object]) -> None:
    declare(ROW)
    changed = replace(ROW, **change)  # type: ignore[arg-type]
    assert declare(changed) == {"a": "changed"}
    assert rows() == [changed]


def test_whether_it_is_enabled_is_the_user_s() -> None:
    declare(ROW)
    Cron.objects.update(enabled=False)
    assert declare(ROW) == {"a": "same"}
    assert declare(replace(ROW, expression="* * * * *")) == {"a": "changed"}
    assert not Cron.objects.get().enabled


def test_an_entry_of_the_admin_becomes_the_code_s() -> None:
    CronFactory(name="a", enabled=False)
    assert declare(ROW) == {"a": "changed"}
    assert rows() == [replace(ROW, enabled=False)]


@pytest.mark.parametrize("change", [{"expression": "* * * * *"}, {"zone": "UTC"}], ids=str)
@pytest.mark.parametrize("last_tick", [None, EARLIER])
def test_another_schedule_begins_now(change: dict[str, str], last_tick: dt.datetime | None) -> None:
    declare(ROW)
    Cron.objects.update(last_tick=last_tick, last_job_id=7)
    declare(replace(ROW, **change))
    assert Cron.objects.values_list("last_tick", "last_job_id").get() == (NOW, 7)


def test_its_last_tick_only_grows() -> None:
    declare(ROW)
    ahead = NOW + dt.timedelta(hours=1)
    Cron.objects.update(last_tick=ahead)
    declare(replace(ROW, zone="UTC"))
    assert Cron.objects.get().last_tick == ahead


def test_another_task_goes_on_where_it_was() -> None:
    declare(ROW)
    Cron.objects.update(last_tick=EARLIER)
    declare(replace(ROW, task="t.b"))
    assert Cron.objects.get().last_tick == EARLIER


def test_entries_that_are_not_given_stay() -> None:
    declare(ROW)
    assert declare(replace(ROW, name="b")) == {"b": "inserted"}
    assert [row.name for row in rows()] == ["a", "b"]


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    with clock() as window:
        Cron.objects.declare_crons([ROW])
    assert Cron.objects.get().created_at in window
