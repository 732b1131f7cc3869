"""Fixtures for every test: a real PostgreSQL whose job table refuses illegal transitions, and no leaks."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from django.db import connections

from .support.barriers import Threads, threads
from .support.connections import Connect, opened_connections, plain_connection
from .support.flush import flush_by_delete
from .support.leaks import assert_no_session_left, assert_no_thread_left, sessions_now, threads_now
from .support.transitions import install_transition_guard

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker

    from conveyor_django.db import Connection

DATABASE_FIXTURES = {"db", "transactional_db", "django_db_setup", "connect"}
# Files of few tests that each wait for real processes: last, they would leave the other test processes without work.
FIRST = {"process", "shop", "sharding", "zombies", "migrations"}


def pytest_configure() -> None:
    """Let SIGINT interrupt, also where a shell has started the suite in the background and made it ignore that."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that reach the database by connections of their own, and begin with the slow files.

    pytest-django makes a test database only for marked tests: alone, the others would run on the project's own.
    """
    items.sort(key=lambda item: item.path.parent.name not in FIRST)
    for item in items:
        if "django_db_setup" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("django_db"):
            item.add_marker(pytest.mark.django_db)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Hold every statement of the suite against the one table of legal transitions."""
    with django_db_blocker.unblock():
        install_transition_guard(connections["default"])
        flush_by_delete(connections["default"])


@pytest.fixture(scope="session")
def watcher(django_db_setup: None) -> Iterator[Connection]:
    """A connection for looking at what the others do: always outside of a transaction."""
    connection = plain_connection()
    yield connection
    connection.close()


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the test that leaves a thread or a database connection behind."""
    uses_database = not DATABASE_FIXTURES.isdisjoint(request.fixturenames)
    watcher: Connection | None = request.getfixturevalue("watcher") if uses_database else None
    threads = threads_now()
    sessions = set(sessions_now(watcher)) if watcher else set()
    yield
    assert_no_thread_left(threads)
    if watcher:
        assert_no_session_left(sessions, watcher)


@pytest.fixture
def sides(watcher: Connection) -> Iterator[Threads]:
    """Threads for the sides of a race."""
    with threads(watcher) as sides:
        yield sides


@pytest.fixture
def connect(django_db_setup: None) -> Iterator[Connect]:
    """Open dedicated connections, closed when the test ends."""
    with opened_connections() as connect:
        yield connect
