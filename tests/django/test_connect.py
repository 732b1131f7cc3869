"""Dedicated connections: what they take over from DATABASES."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connections

from conveyor_django import db

from ..support.connections import Connect, scalar

ROLE = 'conveyor "test" role'


@pytest.fixture
def role(watcher: db.Connection) -> Iterator[str]:
    """A role that nobody can log in as, with a name that needs quotes."""
    quoted = '"' + ROLE.replace('"', '""') + '"'
    watcher.execute(f"CREATE ROLE {quoted}")
    yield ROLE
    watcher.execute(f"DROP ROLE {quoted}")


def test_the_role_that_django_assumes(connect: Connect, role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connections["default"].settings_dict["OPTIONS"], "assume_role", role)
    assert scalar(connect(), "SELECT current_user") == role


def test_without_one_it_is_the_login(connect: Connect) -> None:
    assert scalar(connect(), "SELECT current_user = session_user") is True
