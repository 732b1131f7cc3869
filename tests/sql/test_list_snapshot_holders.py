"""list_snapshot_holders: sessions here; prepared transactions and slots need a server of their own (tests/sharding)."""

from __future__ import annotations

from typing import Any

import pytest

from conveyor_django.db import Connection
from conveyor_django.managers.looking import Holder, LookManager

from ..support.connections import Connect, scalar
from ..support.waits import backend_pid

pytestmark = pytest.mark.django_db


def holders(session: Any, **limits: Any) -> list[Holder]:
    found = LookManager().list_snapshot_holders(**{"seconds": 0.0, "transactions": 10**9} | limits)
    return [holder for holder in found if holder.name == str(backend_pid(session))]


def test_a_session_with_a_snapshot(connect: Connect) -> None:
    session = connect("somebody")
    session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    session.execute("SELECT count(*) FROM conveyor_job")
    [found] = holders(session)
    assert (found.kind, found.application_name, found.state) == ("session", "somebody", "idle in transaction")
    assert found.seconds is not None


def test_a_session_that_has_written(connect: Connect) -> None:
    session = connect("somebody")
    session.execute("BEGIN")
    session.execute("SELECT pg_current_xact_id()")
    # A statement without a snapshot: the one of before is gone with it.
    session.execute("SAVEPOINT here")
    assert len(holders(session)) == 1


def test_an_open_transaction_without_a_snapshot_holds_nothing(connect: Connect) -> None:
    session = connect("somebody")
    session.execute("BEGIN")
    assert holders(session) == []


def test_only_as_old_as_asked_for(connect: Connect, watcher: Connection) -> None:
    session = connect("somebody")
    session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    session.execute("SELECT count(*) FROM conveyor_job")
    began = scalar(watcher, "SELECT xact_start FROM pg_stat_activity WHERE pid = %s", (backend_pid(session),))
    assert holders(session, now=began, seconds=1.0) == []
    assert holders(session, now=began, seconds=0.0)[0].seconds == 0
