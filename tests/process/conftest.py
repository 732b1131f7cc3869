"""Fixtures for tests with real processes on the test database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from conveyor_django.models import Job
from conveyor_django.states import TERMINAL
from tests.support.processes import PATIENCE, Desk
from tests.support.waits import wait_until


@pytest.fixture(autouse=True)
def _database(transactional_db: None) -> Iterator[None]:
    """Real commits; handlers' effects in a table that keeps nothing from being doubled."""
    with connections["default"].cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS test_effect (name text NOT NULL)")
        cursor.execute("TRUNCATE test_effect")
    yield
    connections["default"].close()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def effects() -> Callable[[], list[str]]:
    """Return the names in the effects table."""

    def read() -> list[str]:
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT name FROM test_effect ORDER BY name")
            return [row[0] for row in cursor.fetchall()]

    return read


@pytest.fixture
def all_end() -> Callable[..., list[Any]]:
    """Wait until every job has ended; return them."""

    def wait(patience: float = PATIENCE) -> list[Job]:
        terminal = [state.value for state in TERMINAL]
        left = Job.objects.exclude(state__in=terminal).values("id", "task", "state", "attempt", "lost_count", "run_at")
        try:
            wait_until(lambda: not left.all().exists(), "every job has ended", patience=patience)
        except AssertionError as error:
            raise AssertionError(f"{error}: {list(left.all())}") from None
        return list(Job.objects.order_by("id"))

    return wait
