"""What the tests of single statements share: owners, an instant, and the database's clock."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import pytest
from django.db import connection

from conveyor_django import pipeline
from conveyor_django.sql import numbered

from ..support.connections import scalar

# Far from any clock, so that a statement that ignores `now` cannot pass.
NOW = dt.datetime(2031, 5, 6, 7, 8, 9, 123456, tzinfo=dt.UTC)


@dataclass
class Window:
    """The times of the database's clock right before and right after a block."""

    opened: dt.datetime
    closed: dt.datetime

    def __contains__(self, instant: object) -> bool:
        return isinstance(instant, dt.datetime) and self.opened <= instant <= self.closed

    def __add__(self, seconds: float) -> Window:
        shift = dt.timedelta(seconds=seconds)
        return Window(self.opened + shift, self.closed + shift)


Clock = Callable[[], AbstractContextManager[Window]]


@pytest.fixture
def owner() -> uuid.UUID:
    """An incarnation of a worker process."""
    return uuid.uuid4()


@pytest.fixture
def other() -> uuid.UUID:
    """Another incarnation."""
    return uuid.uuid4()


@pytest.fixture
def clock(db: None) -> Clock:
    """Say when a block ran, by the database's clock.

    The window opens after the test's transaction began, so it never holds the transaction's frozen now().
    """

    @contextmanager
    def window() -> Iterator[Window]:
        opened = scalar(connection, "SELECT clock_timestamp()")
        assert scalar(connection, "SELECT now()") < opened
        result = Window(opened, opened)
        yield result
        result.closed = scalar(connection, "SELECT clock_timestamp()")

    return window


@pytest.fixture
def own_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a statement's name for its text."""
    monkeypatch.setattr(pipeline, "positional", numbered)
