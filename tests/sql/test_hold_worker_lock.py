"""hold_worker_lock: a session lock per incarnation, gone with its session."""

from __future__ import annotations

import uuid

from conveyor_django.db import Connection
from conveyor_django.models import Worker

from ..support.connections import Connect
from ..support.waits import backend_pid, wait_until_gone


def test_one_session_holds_it_for_as_long_as_it_lives(
    connect: Connect, watcher: Connection, owner: uuid.UUID, other: uuid.UUID
) -> None:
    first, second = connect(), connect()
    assert Worker.objects.hold_worker_lock(incarnation=owner, on=first)
    assert not Worker.objects.hold_worker_lock(incarnation=owner, on=second)
    assert Worker.objects.hold_worker_lock(incarnation=other, on=second)
    pid = backend_pid(first)
    first.close()
    wait_until_gone(watcher, pid)
    assert Worker.objects.hold_worker_lock(incarnation=owner, on=second)
