"""settings.CONVEYOR: read late, nothing ignored."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from conveyor_django.conf import MAX_INTEGER, ConveyorSettings, QueueSettings, conveyor_settings


def test_without_the_setting_the_defaults_hold(settings: Settings) -> None:
    del settings.CONVEYOR
    assert conveyor_settings() == ConveyorSettings()


def test_it_is_read_late(settings: Settings) -> None:
    settings.CONVEYOR = {"LEASE_SECONDS": 7}
    assert conveyor_settings().lease_seconds == 7.0
    settings.CONVEYOR = {"LEASE_SECONDS": 8}
    assert conveyor_settings().lease_seconds == 8.0


def test_a_change_within_it_is_read_too(settings: Settings) -> None:
    settings.CONVEYOR = {"MAX_ATTEMPTS": 2, "QUEUES": {"a": {"DATABASE": "one"}}}
    assert (conveyor_settings().max_attempts, conveyor_settings().database_of("a")) == (2, "one")
    settings.CONVEYOR["MAX_ATTEMPTS"] = 3
    settings.CONVEYOR["QUEUES"]["a"]["DATABASE"] = "two"
    assert (conveyor_settings().max_attempts, conveyor_settings().database_of("a")) == (3, "two")
    del settings.CONVEYOR["MAX_ATTEMPTS"]
    assert conveyor_settings().max_attempts == 5


def test_a_key_that_is_added_to_those_masked_is_read_too(settings: Settings) -> None:
    settings.CONVEYOR = {"MASKED_KEYS": ["iban"]}
    assert conveyor_settings().masked_keys == ("iban",)
    settings.CONVEYOR["MASKED_KEYS"].append("bic")
    assert conveyor_settings().masked_keys == ("iban", "bic")


def test_traces_may_have_no_link(settings: Settings) -> None:
    settings.CONVEYOR = {"TRACE_URL": None}
    assert conveyor_settings().trace_url is None


def test_what_equals_a_good_value_is_not_taken_for_it(settings: Settings) -> None:
    settings.CONVEYOR = {"MAX_ATTEMPTS": 1}
    assert conveyor_settings().max_attempts == 1
    settings.CONVEYOR = {"MAX_ATTEMPTS": True}
    with pytest.raises(ImproperlyConfigured, match="MAX_ATTEMPTS"):
        conveyor_settings()


@pytest.mark.parametrize("field", dataclasses.fields(ConveyorSettings), ids=lambda field: field.name)
def test_every_setting_has_a_key(settings: Settings, field: dataclasses.Field[Any]) -> None:
    given, value = {
        "database": ("other", "other"),
        "masked_keys": (["iban"], ("iban",)),
        "queues": ({"billing": {"DATABASE": "other"}}, {"billing": QueueSettings(database="other")}),
        "spans": ("child", "child"),
        "trace_url": ("https://traces/{trace_id}", "https://traces/{trace_id}"),
    }.get(field.name, (17, 17))
    settings.CONVEYOR = {field.name.upper(): given}
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
        ({"QQQ": 5}, "Known keys: API_MAX_BATCH, "),
        ({5: 5}, "unknown key 5"),
        ({"LEASE_SECONDS": "30"}, "must be a number from 1 to 86,400 (seconds), not '30'"),
        ({"LEASE_SECONDS": True}, "must be a number from 1 to 86,400 (seconds), not True"),
        ({"LEASE_SECONDS": None}, "must be a number from 1 to 86,400 (seconds), not None"),
        ({"LEASE_SECONDS": float("nan")}, "must be a number from 1 to 86,400 (seconds), not nan"),
        ({"ATOMIC_GROUP_SIZE": 0}, "must be a whole number from 1 to 48, not 0"),
        ({"ATOMIC_GROUP_SIZE": 49}, "must be a whole number from 1 to 48, not 49"),
        ({"MAX_LOST": float("inf")}, "must be a whole number from 1 to 2,147,483,647, not inf"),
        ({"MAX_ATTEMPTS": 0}, "a whole number from 1 to 2,147,483,647, not 0"),
        ({"MAX_ATTEMPTS": 1.5}, "a whole number from 1 to 2,147,483,647, not 1.5"),
        ({"MAX_ATTEMPTS": MAX_INTEGER + 1}, "2,147,483,647, not 2147483648"),
        ({"MAX_LOST": 10**400}, "2,147,483,647, not 1000"),
        ({"LEASE_SECONDS": 10**400}, "86,400 (seconds), not 1000"),
        ({"DATABASE": ""}, "must be a database alias, not ''"),
        ({"DATABASE": None}, "must be a database alias, not None"),
        ([], "must be a dict, not list"),
        ({"QUEUES": ["billing"]}, "must be a dict such as {'billing': {'DATABASE': 'shard1'}}, not ['billing']"),
        ({"QUEUES": {"billing": "shard1"}}, "['billing'] must be a dict such as {'DATABASE': 'shard1'}, not 'shard1'"),
        ({"QUEUES": {"billing": {"DATABSE": "x"}}}, "unknown key 'DATABSE'. Did you mean 'DATABASE'?"),
        ({"QUEUES": {"billing": {"x": 1}}}, "['billing'] has an unknown key 'x'. Known keys: DATABASE."),
        ({"QUEUES": {"billing": {"DATABASE": 5}}}, "['billing']['DATABASE'] must be a database alias, not 5"),
        ({"QUEUES": {"": {}}}, "CONVEYOR['QUEUES'][''] is of no queue: a queue's name is text of 1 to 128 characters"),
        ({"QUEUES": {5: {}}}, "CONVEYOR['QUEUES'][5] is of no queue"),
        ({"SPANS": "linked"}, "CONVEYOR['SPANS'] must be one of 'link', 'child', 'off', not 'linked'"),
        ({"SPANS": True}, "CONVEYOR['SPANS'] must be one of 'link', 'child', 'off', not True"),
        ({"TRACE_URL": 5}, "such as 'https://traces.example.com/trace/{trace_id}', not 5"),
        ({"TRACE_URL": "https://traces/"}, "with {trace_id} once"),
        ({"TRACE_URL": "https://traces/{trace_id}/{trace_id}"}, "with {trace_id} once"),
        ({"TRACE_URL": "https://traces/{span_id}/{trace_id}"}, "with {trace_id} once"),
        ({"TRACE_URL": "javascript:alert('{trace_id}')"}, "must be an http:// or https:// address"),
        ({"TRACE_URL": " https://traces/{trace_id}"}, "must be an http:// or https:// address"),
        ({"TRACE_URL": "/traces/{trace_id}"}, "must be an http:// or https:// address"),
        ({"TRACE_URL": "https:///{trace_id}"}, "must be an http:// or https:// address"),
        ({"TRACE_URL": "https://[traces/{trace_id}"}, "must be an http:// or https:// address"),
        ({"TRACE_URL": "https://{trace_id}/"}, "in its path, query or fragment"),
        ({"MASKED_KEYS": "iban"}, "must be a list of keys that have a letter or digit, such as"),
        ({"MASKED_KEYS": [5]}, "['iban', 'card_number'], not [5]"),
        ({"MASKED_KEYS": ["-"]}, "not ['-']"),
    ],
    ids=str,
)
def test_what_is_refused(settings: Settings, given: Any, says: str) -> None:
    settings.CONVEYOR = given
    with pytest.raises(ImproperlyConfigured) as caught:
        conveyor_settings()
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("key", "least", "most"),
    [
        ("LEASE_SECONDS", 1, 86_400),
        ("BACKOFF_BASE_SECONDS", 0, 3_153_600_000),
        ("BACKOFF_CAP_SECONDS", 0.001, 3_153_600_000),
        ("POLL_SECONDS", 0.001, 3_600),
        ("NOTIFY_WINDOW_SECONDS", 0, 60),
        ("SCHEDULER_SECONDS", 0.001, 3_600),
        ("GRACE_SECONDS", 0, 86_400),
        ("ATOMIC_TIMEOUT_SECONDS", 0.001, 86_400),
        ("TIMEOUT_GRACE_SECONDS", 0, 3_600),
        ("RETENTION_SECONDS", 0, 3_153_600_000),
        ("FAILED_RETENTION_SECONDS", 0, 3_153_600_000),
    ],
)
def test_every_time_has_its_limits(settings: Settings, key: str, least: float, most: float) -> None:
    for fine in (least, most):
        settings.CONVEYOR = {key: fine}
        assert getattr(conveyor_settings(), key.lower()) == fine
    for refused in (least - 0.0001, most + 0.5, float("inf")):
        settings.CONVEYOR = {key: refused}
        with pytest.raises(ImproperlyConfigured) as caught:
            conveyor_settings()
        assert str(caught.value) == (
            f"CONVEYOR[{key!r}] must be a number from {least:,} to {most:,} (seconds), not {refused!r}."
        )


def test_each_queue_has_its_database(settings: Settings) -> None:
    settings.CONVEYOR = {
        "DATABASE": "main",
        "QUEUES": {"b": {"DATABASE": "shard2"}, "a": {"DATABASE": "shard1"}, "c": {"DATABASE": "shard2"}, "d": {}},
    }
    found = conveyor_settings()
    assert [found.database_of(queue) for queue in "abcde"] == ["shard1", "shard2", "shard2", "main", "main"]
    assert found.databases == ("main", "shard1", "shard2")


def test_without_queues_there_is_one_database() -> None:
    assert (ConveyorSettings().databases, ConveyorSettings().database_of("a")) == (("default",), "default")


def test_a_change_within_queues_is_seen(settings: Settings) -> None:
    queues = {"a": {"DATABASE": "one"}}
    settings.CONVEYOR = {"QUEUES": queues}
    assert conveyor_settings().database_of("a") == "one"
    queues["a"]["DATABASE"] = "two"
    assert conveyor_settings().database_of("a") == "two"


def test_nobody_can_change_it() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        conveyor_settings().lease_seconds = 1.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        conveyor_settings().queues["a"] = QueueSettings()  # type: ignore[index]
