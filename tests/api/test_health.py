"""Health: live needs no database, ready needs it, with its tables."""

from __future__ import annotations

import subprocess
import sys

import pytest
from django.db import connection

from ..support.databases import process_environment
from .client import Api, answer, problem


def test_live_looks_at_no_database() -> None:
    # Without the fixture `db` a query would fail the test.
    assert answer(Api().get("/health/live")) == {"status": "live"}


@pytest.mark.django_db
def test_ready_with_a_database_that_has_the_tables() -> None:
    assert answer(Api().get("/health/ready")) == {"status": "ready"}


# Other apps have an initial migration too.
@pytest.mark.django_db
@pytest.mark.parametrize("name", ["0001_initial", "0004_workflows"])
def test_not_ready_where_a_migration_is_missing(caplog: pytest.LogCaptureFixture, name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'conveyor' AND name = %s", [name])
    client = Api()
    client.client.raise_request_exception = False
    response = client.get("/health/ready")
    body = problem(response, 503, "not-ready")
    assert response["Retry-After"] == "2"
    assert name not in str(body)
    assert name in caplog.text


PROBE = """
import django
django.setup()
from django.test import Client
client = Client(raise_request_exception=False, headers={"Host": "localhost"})
print([client.get(f"/conveyor/health/{name}").status_code for name in ("live", "ready")])
"""


def test_not_ready_without_a_database_but_alive(django_db_setup: None) -> None:
    environment = process_environment() | {"DATABASE_URL": "postgresql://nobody@/nothing?host=/nowhere"}
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROBE], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.stdout.strip() == "[200, 503]", ran.stdout + ran.stderr
