"""settings.CONVEYOR: read late, nothing ignored."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from conveyor_django.conf import MAX_INTEGER, ConveyorSettings, conveyor_settings


def test_without_the_setting_the_defaults_hold(settings: Settings) -> None:
    del settings.CONVEYOR
    assert conveyor_settings() == ConveyorSettings()


def test_it_is_read_late(settings: Settings) -> None:
    settings.CONVEYOR = {"LEASE_SECONDS": 7}
    assert conveyor_settings().lease_seconds == 7.0
    settings.CONVEYOR = {"LEASE_SECONDS": 8}
    assert conveyor_settings().lease_seconds == 8.0


@pytest.mark.parametrize("field", dataclasses.fields(ConveyorSettings), ids=lambda field: field.name)
def test_every_setting_has_a_key(settings: Settings, field: dataclasses.Field[Any]) -> None:
    value = "other" if field.name == "database" else 17
    settings.CONVEYOR = {field.name.upper(): value}
    assert getattr(conveyor_settings(), field.name) == value


@pytest.mark.parametrize("key", ["RETENTION_SECONDS", "FAILED_RETENTION_SECONDS"])
def test_retention_may_be_for_ever(settings: Settings, key: str) -> None:
    settings.CONVEYOR = {key: None}
    assert getattr(conveyor_settings(), key.lower()) is None


@pytest.mark.parametrize("key", ["GRACE_SECONDS", "NOTIFY_WINDOW_SECONDS", "RETENTION_SECONDS"])
def test_some_may_be_zero(settings: Settings, key: str) -> None:
    settings.CONVEYOR = {key: 0}
    assert getattr(conveyor_settings(), key.lower()) == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"LEASE_SECOND": 5}, "Did you mean 'LEASE_SECONDS'?"),
        ({"lease_seconds": 5}, "Did you mean 'LEASE_SECONDS'?"),
        ({"QQQ": 5}, "Known keys: BACKOFF_BASE_SECONDS"),
        ({5: 5}, "unknown key 5"),
        ({"LEASE_SECONDS": "30"}, "must be a number, not '30'"),
        ({"LEASE_SECONDS": True}, "must be a number, not True"),
        ({"LEASE_SECONDS": None}, "must be a number, not None"),
        ({"LEASE_SECONDS": float("nan")}, "must be a number, not nan"),
        ({"MAX_LOST": float("inf")}, "must be a number, not inf"),
        ({"LEASE_SECONDS": 0}, "above 0, not 0"),
        ({"GRACE_SECONDS": -1}, "at least 0, not -1"),
        ({"MAX_ATTEMPTS": 0}, "above 0, not 0"),
        ({"MAX_ATTEMPTS": 1.5}, "a whole number above 0, 2,147,483,647 at most, not 1.5"),
        ({"MAX_ATTEMPTS": MAX_INTEGER + 1}, "2,147,483,647 at most, not 2147483648"),
        ({"DATABASE": ""}, "must be a database alias, not ''"),
        ({"DATABASE": None}, "must be a database alias, not None"),
        ([], "must be a dict, not list"),
    ],
    ids=str,
)
def test_what_is_refused(settings: Settings, given: Any, says: str) -> None:
    settings.CONVEYOR = given
    with pytest.raises(ImproperlyConfigured) as caught:
        conveyor_settings()
    assert says in str(caught.value)


def test_nobody_can_change_it() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        conveyor_settings().lease_seconds = 1.0  # type: ignore[misc]
