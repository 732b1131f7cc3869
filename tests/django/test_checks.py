"""The system checks: each problem under its id, with the fix."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from django.core import checks
from django.db import connections
from pytest_django import Settings

from conveyor_django.compat import FRAMEWORK

OURS = "conveyor_django.backend.ConveyorBackend"


@pytest.fixture(autouse=True)
def sound(settings: Settings) -> None:
    settings.TASKS = {"default": {"BACKEND": OURS}}
    settings.CONVEYOR = {}


def found() -> dict[str, checks.CheckMessage]:
    return {str(message.id): message for message in checks.run_checks() if str(message.id).startswith("conveyor.")}


def only(expected: str) -> checks.CheckMessage:
    messages = found()
    assert list(messages) == [expected]
    message = messages[expected]
    assert message.hint
    assert message.is_serious() == expected.startswith("conveyor.E")
    return message


def test_a_sound_project_hears_nothing() -> None:
    assert found() == {}


def test_bad_settings(settings: Settings) -> None:
    settings.CONVEYOR = {"LEASE_SECOND": 3}
    assert "LEASE_SECOND" in only("conveyor.E001").msg


def test_an_unknown_alias(settings: Settings) -> None:
    settings.CONVEYOR = {"DATABASE": "jobs"}
    message = only("conveyor.E002")
    assert "'jobs'" in message.msg
    assert "'default'" in str(message.hint)


def test_an_unknown_alias_of_a_queue(settings: Settings) -> None:
    settings.TASKS = {"default": {"BACKEND": OURS, "QUEUES": []}}
    settings.CONVEYOR = {"QUEUES": {"a": {}, "billing": {"DATABASE": "shard"}}}
    assert only("conveyor.E002").msg == (
        "CONVEYOR['QUEUES']['billing']['DATABASE'] is 'shard', which is not in DATABASES."
    )


def test_each_database_is_checked(settings: Settings, db: None, elsewhere: str) -> None:
    settings.TASKS = {"default": {"BACKEND": OURS, "QUEUES": []}}
    settings.CONVEYOR = {"QUEUES": {"billing": {"DATABASE": elsewhere}}}
    assert "SQLite" in only("conveyor.E003").msg


def test_another_database_than_postgresql(settings: Settings, db: None, elsewhere: str, route: Any) -> None:
    settings.CONVEYOR = {"DATABASE": elsewhere}
    assert "SQLite" in only("conveyor.E003").msg


def test_the_old_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections["default"], "Database", SimpleNamespace(__name__="psycopg2"))
    assert "psycopg2" in only("conveyor.E004").msg


def test_an_alias_too_long_for_ids(settings: Settings, route: Any) -> None:
    alias = "a" * 50
    connections.settings[alias] = connections.settings["default"]
    try:
        settings.CONVEYOR = {"DATABASE": alias}
        message = only("conveyor.E005")
    finally:
        del connections.settings[alias]
        if hasattr(connections._connections, alias):
            del connections[alias]
    assert "70 characters" in message.msg
    assert "by 6 characters" in str(message.hint)


def test_options_that_the_backend_does_not_know(settings: Settings) -> None:
    settings.TASKS = {"default": {"BACKEND": OURS, "OPTIONS": {"lease": 3}}}
    assert "'lease'" in only("conveyor.E006").msg


@pytest.mark.parametrize("queues", ["default", [""], [5], ["q" * 129], ["a\x00"]])
def test_queues_that_are_not_names(settings: Settings, queues: Any) -> None:
    settings.TASKS = {"default": {"BACKEND": OURS, "QUEUES": queues}}
    assert "QUEUES" in only("conveyor.E007").msg


@pytest.mark.parametrize("queues", [[], ["a", "b"], ("a",), {"a"}])
def test_queues_that_are(settings: Settings, queues: Any) -> None:
    settings.TASKS = {"default": {"BACKEND": OURS, "QUEUES": queues}}
    assert found() == {}


def test_no_backend_of_conveyors(settings: Settings) -> None:
    settings.TASKS = {"default": {"BACKEND": f"{FRAMEWORK}.backends.immediate.ImmediateBackend"}}
    assert "ConveyorBackend" in str(only("conveyor.W001").hint)


class Router:
    """Sends Conveyor's models wherever CONVEYOR says."""

    def db_for_read(self, model: Any, **_: Any) -> str | None:
        from conveyor_django.conf import conveyor_settings

        return conveyor_settings().database if model._meta.app_label == "conveyor" else None

    db_for_write = db_for_read


@pytest.fixture
def route(settings: Settings) -> None:
    settings.DATABASE_ROUTERS = [f"{__name__}.Router"]


def test_a_database_without_a_router(settings: Settings) -> None:
    connections.settings["jobs"] = connections.settings["default"]
    try:
        settings.CONVEYOR = {"DATABASE": "jobs"}
        message = only("conveyor.W002")
        settings.DATABASE_ROUTERS = [f"{__name__}.Router"]
        assert found() == {}
    finally:
        del connections.settings["jobs"]
        if hasattr(connections._connections, "jobs"):
            del connections["jobs"]
    assert "'jobs'" in message.msg
    assert "'default'" in message.msg


@pytest.mark.parametrize("pool", [True, {"min_size": 2}])
def test_a_pool_that_workers_do_not_use(monkeypatch: pytest.MonkeyPatch, pool: Any) -> None:
    options = connections.settings["default"]["OPTIONS"]
    monkeypatch.setitem(options, "pool", False)
    assert found() == {}
    monkeypatch.setitem(options, "pool", pool)
    assert "'default'" in only("conveyor.W003").msg


class Closed:
    """Keeps every table out of the shard."""

    def allow_migrate(self, db: str, app_label: str, **_: Any) -> bool | None:
        return False if db == "shard" else None


def test_a_router_that_keeps_the_tables_out(settings: Settings) -> None:
    settings.TASKS = {"default": {"BACKEND": OURS, "QUEUES": []}}
    connections.settings["shard"] = connections.settings["default"]
    try:
        settings.CONVEYOR = {"QUEUES": {"billing": {"DATABASE": "shard"}}}
        assert found() == {}
        settings.DATABASE_ROUTERS = [f"{__name__}.Closed"]
        assert "'shard', but a database router keeps" in only("conveyor.W002").msg
    finally:
        del connections.settings["shard"]
        if hasattr(connections._connections, "shard"):
            del connections["shard"]


def test_a_queue_that_no_backend_declares(settings: Settings) -> None:
    settings.TASKS = {"default": {"BACKEND": OURS, "QUEUES": []}}
    settings.CONVEYOR = {"QUEUES": {"billling": {}}}
    assert found() == {}
    settings.TASKS = {"default": {"BACKEND": OURS, "QUEUES": ["billing"]}}
    assert "'billling'" in only("conveyor.W004").msg
    settings.TASKS |= {"second": {"BACKEND": OURS, "QUEUES": ["billling"]}}
    assert found() == {}


MINIMAL = """
import django
from django.conf import settings
from django.core.checks import run_checks

settings.configure(
    INSTALLED_APPS=["conveyor_django"],
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "nowhere", "HOST": "/nowhere"}},
    TASKS={"default": {"BACKEND": "conveyor_django.backend.ConveyorBackend", "OPTIONS": {"lease": 3}}},
)
django.setup()
print([message.id for message in run_checks()])
from conveyor_django.compat import task_enqueued
print(len(task_enqueued.receivers))
"""


def test_the_app_alone_makes_the_backends_checks_and_the_frameworks_log_line_work() -> None:
    """Also on Django 5.2 without `django_tasks` in INSTALLED_APPS, and without a database to reach."""
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", MINIMAL],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.stdout, ran.stderr) == ("['conveyor.E006']\n1\n", "")
