"""list_crons: every entry as its row says, with the database's clock."""

from __future__ import annotations

import pytest

from conveyor_django.managers.cron import CronRow
from conveyor_django.models import Cron

from ..support.factories import CronFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


def test_none() -> None:
    assert Cron.objects.list_crons() == []


def test_each_as_its_row_says() -> None:
    CronFactory(name="b", enabled=False)
    CronFactory(
        name="a", expression="5 4 * * *", zone="Europe/Berlin", task="t.a", args=[1, "x"], kwargs={"n": 1.5}, queue="q",
        declared=True, missed="all", max_missed=7, overlap="skip", jitter_seconds=2.5, last_tick=NOW,
    )  # fmt: skip
    listed = Cron.objects.list_crons(now=NOW)
    assert [one.row.name for one in listed] == ["a", "b"]
    assert listed[0].row == CronRow(
        name="a", expression="5 4 * * *", zone="Europe/Berlin", task="t.a", args='[1, "x"]', kwargs='{"n": 1.5}',
        queue="q", enabled=True, declared=True, missed="all", max_missed=7, overlap="skip", jitter_seconds=2.5,
    )  # fmt: skip
    assert [one.last_tick for one in listed] == [NOW, None]
    assert [one.now for one in listed] == [NOW, NOW]
    assert not listed[1].row.enabled


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    CronFactory()
    with clock() as window:
        [one] = Cron.objects.list_crons()
    assert one.now in window
