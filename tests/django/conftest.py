"""Fixtures of the tests at Django's side: a second database, ears for the wake-up, quick logins to the admin."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.db import connections
from pytest_django import Settings

from conveyor_django import notify

from ..support.connections import Connect
from ..support.workflows import assert_nothing_stuck

ELSEWHERE = "elsewhere"


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """The alias of a second database, which is not the jobs': an SQLite one in memory."""
    configured = connections.configure_settings(
        {**connections.settings, ELSEWHERE: {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
    )
    connections.settings[ELSEWHERE] = configured[ELSEWHERE]
    # At once: a test case lets nobody connect to a database that was not among its own.
    connections[ELSEWHERE].connect()
    yield ELSEWHERE
    # Not the wrapper's close(), which leaves a database in memory open.
    connections[ELSEWHERE].connection.close()
    del connections[ELSEWHERE]
    del connections.settings[ELSEWHERE]


@pytest.fixture
def doorbell(monkeypatch: pytest.MonkeyPatch) -> notify.Doorbell:
    """A doorbell that nobody has rung yet, in place of the process's own."""
    fresh = notify.Doorbell()
    monkeypatch.setattr(notify, "doorbell", fresh)
    return fresh


# Returns the queues that were rung since the last call, in order.
Rung = Callable[[], list[str]]


@pytest.fixture
def rung(connect: Connect, doorbell: notify.Doorbell) -> Rung:
    """Listen as a worker does."""
    listener, sender = connect(), connect()
    listener.execute(f"LISTEN {notify.CHANNEL}")

    def heard() -> list[str]:
        # Notifications arrive in the order of their commits: what is not before this one was not sent.
        sender.execute("SELECT pg_notify(%s, '')", (notify.CHANNEL,))
        queues: list[str] = []
        for notification in listener.notifies(timeout=20):
            if not notification.payload:
                return queues
            queues.append(notification.payload)
        pytest.fail("the last notification never arrived")

    return heard


@pytest.fixture
def cheap_passwords(settings: Settings) -> None:
    """Log in without half a second of hashing."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def nothing_stuck(db: None) -> Iterator[None]:
    """Fail the test that leaves a job of a workflow waiting for ever."""
    yield
    assert_nothing_stuck()
