"""Metrics where jobs live on two servers: each is told under its alias."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from pytest_django import Settings

from conveyor_django import counting
from conveyor_django.metrics import databases, enqueued

from ..metrics.scrape import parsed
from ..support.produce import anything


@pytest.fixture(autouse=True)
def _fresh(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.ROOT_URLCONF = "tests.metrics.urls"
    monkeypatch.setattr(enqueued, "_enqueued", None)
    monkeypatch.setattr(counting, "on_enqueued", None)
    databases.forget()
    yield
    databases.forget()


def test_each_database_is_told_under_its_own_alias(shard: str, client: Client) -> None:
    enqueued.count_enqueues()
    anything.enqueue(1)
    anything.using(queue_name="orders").enqueue(2)
    found = parsed(client.get("/metrics/").content.decode())
    for database, queue in (("default", "default"), (shard, "orders")):
        assert found.total("conveyor_queue_jobs", database=database, state="ready") == 1
        assert found.total("conveyor_queue_jobs", database=database, queue=queue, state="ready") == 1
        assert found.total("conveyor_enqueued_total", database=database) == 1
        assert found.total("conveyor_enqueued_total", database=database, queue=queue) == 1
        assert found.total("conveyor_database_read", database=database) == 4
