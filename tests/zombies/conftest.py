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
from ..trace.log import install, uninstall


@pytest.fixture(scope="module", autouse=True)
def no_flush() -> Iterator[None]:
    """Leave the cleaning to `main`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: None)
        yield


# Refuses, in the claim's own statement, what begins while another job runs.
ONE_AT_ONCE = """
CREATE OR REPLACE FUNCTION test_one_at_once() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    IF (SELECT count(*) FROM conveyor_job WHERE state = 'running') > 1 THEN
        RAISE EXCEPTION 'two jobs run under a cap of one';
    END IF;
    RETURN NULL;
END
$body$;
CREATE OR REPLACE TRIGGER test_one_at_once AFTER UPDATE OF state ON conveyor_job
    FOR EACH ROW WHEN (NEW.state = 'running') EXECUTE FUNCTION test_one_at_once()
"""


@pytest.fixture
def main(transactional_db: None, connect: Connect) -> Iterator[Connection]:
    """The connection of those who live on, in a database that logs what is done."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS test_effect (name text NOT NULL)")
    main = connect()
    install(main)
    yield main
    uninstall(main)
    main.execute("DROP TRIGGER IF EXISTS test_one_at_once ON conveyor_job")
    delete_jobs(main)
    # An event loop of async_to_sync lives as long as the traceback of what was raised in it.
    gc.collect()
