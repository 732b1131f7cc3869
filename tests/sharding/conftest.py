"""Two real servers: the queue "orders" lives on the second one, under the alias "other"."""

from __future__ import annotations

import json
from collections.abc import Iterator

import environ
import pytest
from django.db import connections
from pytest_django import Settings

from ..support.databases import process_environment
from ..support.server import Server, own_server

OTHER = "other"
QUEUES = {"orders": {"DATABASE": OTHER}}


@pytest.fixture(scope="session")
def second_server() -> Iterator[Server]:
    """A migrated PostgreSQL beside the suite's."""
    with own_server() as server:
        yield server


@pytest.fixture
def shard(second_server: Server, transactional_db: None, settings: Settings) -> Iterator[str]:
    """The alias of the second server's database, empty; connected at once, before a test case forbids it."""
    second_server.execute(
        "TRUNCATE conveyor_job, conveyor_payload, conveyor_attempt, conveyor_ledger, conveyor_queue, conveyor_worker, "
        "conveyor_workflow, conveyor_dependency"
    )
    configured = connections.configure_settings(
        {**connections.settings, OTHER: environ.Env.db_url_config(second_server.url)}
    )
    connections.settings[OTHER] = configured[OTHER]
    connections[OTHER].connect()
    settings.CONVEYOR = {**settings.CONVEYOR, "QUEUES": QUEUES}
    yield OTHER
    connections[OTHER].close()
    del connections[OTHER]
    del connections.settings[OTHER]


@pytest.fixture
def both(second_server: Server, shard: str) -> dict[str, str]:
    """The environment of processes that know both databases."""
    return process_environment() | {"OTHER_DATABASE_URL": second_server.url, "CONVEYOR_QUEUES": json.dumps(QUEUES)}
