"""The ground of the zombies: real commits, and a table that keeps nothing from being doubled."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import TransactionTestCase

from conveyor_django.db import Connection

from ..support.bench import delete_jobs
from ..support.connections import Connect


@pytest.fixture(scope="module", autouse=True)
def no_flush() -> Iterator[None]:
    """Leave the cleaning to `main`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: None)
        yield


@pytest.fixture
def main(transactional_db: None, connect: Connect) -> Iterator[Connection]:
    """The connection of those who live on."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS test_effect (name text NOT NULL)")
    main = connect()
    yield main
    delete_jobs(main)
    # An event loop of async_to_sync lives as long as the traceback of what was raised in it.
    gc.collect()
