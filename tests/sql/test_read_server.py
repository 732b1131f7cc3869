"""read_server: what the server is, and what of it is used up."""

from __future__ import annotations

import pytest
from django.db import connection

from conveyor_django.managers.looking import LookManager

from ..support.connections import Connect, scalar

pytestmark = pytest.mark.django_db


def test_settings() -> None:
    found = LookManager().read_server()
    assert (found.is_standby, found.autovacuum, found.track_activities, found.synchronous_commit) == (
        False, scalar(connection, "SHOW autovacuum") == "on", True, scalar(connection, "SHOW synchronous_commit"),
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")
    assert LookManager().read_server().synchronous_commit == "off"


def test_what_is_used_up(connect: Connect) -> None:
    connect()
    found = LookManager().read_server()
    assert 2 <= found.sessions <= found.max_sessions
    assert found.xid_age > 0
    assert 0 <= found.notifications < 1
