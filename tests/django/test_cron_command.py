"""`manage.py conveyor_cron`: what is there, and when it ticks next."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections

from conveyor_django import crontab
from conveyor_django.crontab import cron
from conveyor_django.management.commands import conveyor_cron
from conveyor_django.models import Cron

from ..support import produce
from ..support.factories import CronFactory

pytestmark = pytest.mark.django_db(transaction=True)

AT = dt.datetime(2026, 3, 27, 12, tzinfo=dt.UTC)
LAST = "Fri 2026-03-27 12:00:00 +0000"


@pytest.fixture(autouse=True)
def _ground(monkeypatch):
    """No entries in the code, and a known time."""
    monkeypatch.setattr(crontab, "_entries", {})
    monkeypatch.setattr(conveyor_cron.timezone, "now", lambda: AT)


@pytest.fixture
def listed(capsys):
    def run(*arguments: str, **options: Any) -> list[str]:
        call_command("conveyor_cron", *arguments, **options)
        return capsys.readouterr().out.splitlines()

    return run


@pytest.fixture
def second():
    """Another alias of the same database."""
    connections.settings["second"] = connections.settings["default"]
    connections["second"].connect()
    yield "second"
    connections["second"].close()
    del connections["second"]
    del connections.settings["second"]


def test_none(listed):
    assert listed() == ["Database 'default' has no cron entries."]


def test_entries_with_their_next_tick(listed):
    CronFactory(name="b", expression="@daily", enabled=False, last_tick=AT)
    CronFactory(name="a", expression="30 2 * * *", zone="Europe/Berlin", declared=True)
    assert listed() == [
        "a: 30 2 * * * (Europe/Berlin) tests.support.produce.anything; in the code, no tick yet",
        "    Sat 2026-03-28 02:30:00 +0100 = Sat 2026-03-28 01:30:00 +0000",
        "b: @daily (UTC) tests.support.produce.anything; made in the admin, switched off, last tick " + LAST,
        "    Sat 2026-03-28 00:00:00 +0000 = Sat 2026-03-28 00:00:00 +0000",
    ]


def test_more_ticks(listed):
    CronFactory(name="a", expression="30 2 * * *", zone="Europe/Berlin")
    lines = listed("--preview", "10")
    assert len(lines) == 11
    assert lines[2] == "    Sun 2026-03-29 03:00:00 +0200 = Sun 2026-03-29 01:00:00 +0000"
    assert len(listed("--preview", "0")) == 1


def test_one_that_is_broken_stops_nothing(listed):
    CronFactory(name="a")
    CronFactory(name="b")
    Cron.objects.filter(name="a").update(zone="Europe/Atlantis")
    lines = listed()
    assert lines[1].startswith("    broken: time zone 'Europe/Atlantis' is unknown.")
    assert lines[2].startswith("b: ")


def test_what_stands_in_the_code_alone(listed, settings):
    cron("@daily", name="new")(produce.anything)
    cron("@daily", name="elsewhere", queue_name="orders")(produce.anything)
    settings.CONVEYOR = {"QUEUES": {"orders": {"DATABASE": "other"}}}
    lines = listed(database="default")
    assert lines[0] == "new: @daily (UTC) tests.support.produce.anything; in the code; no scheduler has seen it yet"
    assert len(lines) == 2


def test_of_every_database_that_has_jobs(listed, settings, second):
    cron("@daily", name="new")(produce.anything)
    cron("@daily", name="elsewhere", queue_name="orders")(produce.anything)
    settings.CONVEYOR = {"QUEUES": {"orders": {"DATABASE": second}}}
    lines = listed("--preview", "0")
    state = "@daily (UTC) tests.support.produce.anything; in the code; no scheduler has seen it yet"
    assert lines == [f"default: new: {state}", f"second: elsewhere: {state}"]


@pytest.mark.parametrize("count", ["-1", "many", "1001"])
def test_a_count_that_cannot_be(listed, count):
    with pytest.raises(CommandError, match="must be a whole number from 0 to 1000"):
        listed(f"--preview={count}")


def test_a_database_that_is_not_there(listed):
    with pytest.raises(CommandError, match="'nowhere' is not in DATABASES"):
        listed(database="nowhere")
