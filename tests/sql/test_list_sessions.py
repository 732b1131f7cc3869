"""list_sessions: Conveyor's own sessions on this database."""

from __future__ import annotations

import datetime as dt

import pytest

from conveyor_django.db import Connection
from conveyor_django.managers.looking import LookManager

from ..support.connections import Connect, scalar
from ..support.waits import backend_pid

pytestmark = pytest.mark.django_db


def test_each_by_its_name(connect: Connect) -> None:
    one, other = connect("conveyor scheduler somewhere 1"), connect("conveyor x listener")
    found = {session.pid: session.name for session in LookManager().list_sessions()}
    assert found == {
        backend_pid(one): "conveyor scheduler somewhere 1",
        backend_pid(other): "conveyor x listener",
    }


def test_nobody_else_s(connect: Connect) -> None:
    connect("somebody else's conveyor")
    assert LookManager().list_sessions() == []


def test_how_long_each_has_been_silent(connect: Connect, watcher: Connection) -> None:
    session = connect("conveyor scheduler somewhere 1")
    said = scalar(watcher, "SELECT state_change FROM pg_stat_activity WHERE pid = %s", (backend_pid(session),))
    [found] = LookManager().list_sessions(now=said + dt.timedelta(seconds=90))
    assert found.silent == 90
