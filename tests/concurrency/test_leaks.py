"""The guard against leaks notices a thread and a connection that a test leaves behind."""

from __future__ import annotations

import threading

import pytest

from conveyor_django.db import Connection

from ..support import leaks
from ..support.connections import Connect


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait long for what will not end."""
    monkeypatch.setattr(leaks, "PATIENCE", 0.05)


def test_a_thread() -> None:
    before = leaks.threads_now()
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="left behind")
    thread.start()
    try:
        with pytest.raises(AssertionError, match="leaked a thread: left behind"):
            leaks.assert_no_thread_left(before)
    finally:
        release.set()
        thread.join()
    leaks.assert_no_thread_left(before)


def test_a_connection(connect: Connect, watcher: Connection) -> None:
    before = set(leaks.sessions_now(watcher))
    connect("left behind").execute("SELECT 42")
    with pytest.raises(AssertionError, match="leaked a database connection: left behind: SELECT 42"):
        leaks.assert_no_session_left(before, watcher)
