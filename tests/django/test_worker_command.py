"""`manage.py conveyor_worker`: what no worker could honour is refused before it starts; which queues are its own."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from pytest_django import Settings

from conveyor_django.conf import conveyor_settings
from conveyor_django.management.startup import chosen_database, served_queues


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--poll", "0", "--poll must be a number from 0.001 to 3,600 (seconds), not 0.0"),
        ("--poll", "-1", "--poll must be a number from 0.001 to 3,600 (seconds), not -1.0"),
        ("--poll", "nan", "--poll must be a number from 0.001 to 3,600 (seconds), not nan"),
        ("--poll", "inf", "--poll must be a number from 0.001 to 3,600 (seconds), not inf"),
        ("--poll", "x", "argument --poll: invalid float value: 'x'"),
        ("--grace", "-1", "--grace must be a number from 0 to 86,400 (seconds), not -1.0"),
        ("--grace", "nan", "--grace must be a number from 0 to 86,400 (seconds), not nan"),
        ("--grace", "inf", "--grace must be a number from 0 to 86,400 (seconds), not inf"),
        ("--processes", "0", "argument --processes: must be a whole number of at least 1, not '0'"),
        ("--concurrency", "x", "argument --concurrency: must be a whole number of at least 1, not 'x'"),
        ("--max-jobs", "1.5", "argument --max-jobs: must be a whole number of at least 1, not '1.5'"),
        ("--max-rss", "-3", "argument --max-rss: must be a whole number of at least 1, not '-3'"),
    ],
)
def test_a_number_that_is_none_for_it(db: None, option: str, value: str, says: str) -> None:
    with pytest.raises(CommandError) as caught:
        call_command("conveyor_worker", "--drain", option, value, skip_checks=True)
    assert says in str(caught.value)


@pytest.fixture
def shards(settings: Settings) -> None:
    """Queues on three databases; a fourth has none."""
    queues = ["default", "orders", "billing", "mail"]
    settings.TASKS = {"default": {"BACKEND": "conveyor_django.backend.ConveyorBackend", "QUEUES": queues}}
    settings.CONVEYOR = {"QUEUES": {"billing": {"DATABASE": "shard1"}, "mail": {"DATABASE": "shard2"}}}


@pytest.mark.parametrize(
    ("text", "alias", "queues"),
    [
        ("", "default", ("default", "orders")),
        ("", "shard1", ("billing",)),
        ("orders", "default", ("orders",)),
        ("mail", "shard2", ("mail",)),
    ],
)
def test_a_worker_serves_the_queues_of_its_database(shards: None, text: str, alias: str, queues: tuple[str]) -> None:
    assert served_queues(text, alias, conveyor_settings()) == queues


@pytest.mark.parametrize(
    ("text", "alias", "says"),
    [
        (
            "orders,billing",
            "default",
            "'billing', whose jobs live on database 'shard1', but this worker's is 'default'",
        ),
        ("billing", "default", "Run a worker with --database shard1 for it."),
        (
            "",
            "elsewhere",
            "No queue of TASKS lives on database 'elsewhere'; they live on 'default', 'shard1', 'shard2'.",
        ),
        ("nosuch", "default", "--queues names 'nosuch', but TASKS declares"),
    ],
)
def test_queues_of_another_database_are_refused(shards: None, text: str, alias: str, says: str) -> None:
    with pytest.raises(CommandError) as caught:
        served_queues(text, alias, conveyor_settings())
    assert says in str(caught.value)


@pytest.mark.parametrize("alias", ["default", "shard1", "elsewhere"])
def test_where_any_queue_is_allowed_a_worker_takes_what_is_in_its_database(settings: Settings, alias: str) -> None:
    settings.TASKS = {"default": {"BACKEND": "conveyor_django.backend.ConveyorBackend", "QUEUES": []}}
    settings.CONVEYOR = {"QUEUES": {"billing": {"DATABASE": "shard1"}}}
    assert served_queues("", alias, conveyor_settings()) == ()


def test_it_says_which_databases_it_leaves_out(shards: None, caplog: pytest.LogCaptureFixture) -> None:
    assert chosen_database("shard1", conveyor_settings()) == "shard1"
    assert chosen_database("default", conveyor_settings()) == "default"
    assert caplog.records == []
    assert chosen_database(None, conveyor_settings()) == "default"
    assert "databases.left_out database=default others=shard1,shard2 " in caplog.text


def test_with_one_database_nothing_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    assert chosen_database(None, conveyor_settings()) == "default"
    assert caplog.records == []
