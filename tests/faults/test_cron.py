"""When a run says of its cron entry that it ticks."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from conveyor_django.models import Cron, Job

from ..support.factories import in_seconds, ready_jobs
from .cron import BEHIND, ENTRY, PERIOD, add_entry, wait_ticked

pytestmark = pytest.mark.django_db


class Server:
    """The test database, as far as a run's server is asked here."""

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Run a query."""
        with connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()

    def execute(self, query: str) -> None:
        """Run a statement."""
        with connection.cursor() as cursor:
            cursor.execute(query)


@pytest.fixture
def server() -> Server:
    there = Server()
    add_entry(there)
    return there


def test_it_ticks_if_it_has_a_job_and_is_not_behind(server: Server) -> None:
    tick()
    count_tick(seconds_ago=PERIOD)
    wait_ticked(server, patience=0.0)


def test_one_that_has_never_ticked_does_not_tick(server: Server) -> None:
    count_tick(seconds_ago=PERIOD)
    with pytest.raises(TimeoutError, match="a scheduler ticks"):
        wait_ticked(server, patience=0.0)


def test_one_that_ticks_no_more_does_not_tick(server: Server) -> None:
    tick()
    count_tick(seconds_ago=60 * BEHIND * PERIOD)
    with pytest.raises(TimeoutError, match="a scheduler ticks"):
        wait_ticked(server, patience=0.0)


def tick() -> None:
    """Let there be the job of a tick."""
    [job] = ready_jobs(1)
    Job.objects.filter(id=job.id).update(idempotency_key=f"conveyor:cron:{ENTRY}:2026-01-01T00:00:00Z")


def count_tick(*, seconds_ago: float) -> None:
    """Let the entry say that it has ticked then."""
    Cron.objects.update(last_tick=in_seconds(-seconds_ago))
