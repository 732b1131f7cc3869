"""terminate_sessions: the sessions of one incarnation end, nobody else's."""

from __future__ import annotations

import uuid

import psycopg
import pytest

from conveyor_django.db import Connection
from conveyor_django.managers.workers import application_name
from conveyor_django.models import Worker

from ..support.connections import Connect
from ..support.waits import backend_pid, wait_until_gone


def test_all_of_its_sessions_and_only_its(
    connect: Connect, watcher: Connection, owner: uuid.UUID, other: uuid.UUID
) -> None:
    scheduler = connect("scheduler")
    dead = [connect(application_name(owner, role)) for role in ("", "claimer", "heartbeat 1234567")]
    dead[0].execute("BEGIN")
    stranger, plain = connect(application_name(other, "claimer")), connect("conveyor")
    pids = [backend_pid(session) for session in dead]
    assert Worker.objects.terminate_sessions(incarnation=owner, on=scheduler) == 3
    for pid in pids:
        wait_until_gone(watcher, pid)
    for session in dead:
        with pytest.raises(psycopg.errors.AdminShutdown):
            session.execute("SELECT 1")
    assert stranger.execute("SELECT 1").fetchone() == plain.execute("SELECT 1").fetchone() == (1,)
    assert Worker.objects.terminate_sessions(incarnation=owner, on=scheduler) == 0


def test_not_the_session_that_asks(connect: Connect, owner: uuid.UUID) -> None:
    mine = connect(application_name(owner))
    assert Worker.objects.terminate_sessions(incarnation=owner, on=mine) == 0
