"""find_dead_workers: silent for a lease, or its session lock is gone."""

from __future__ import annotations

import datetime as dt
import uuid

import pytest

from conveyor_django.db import Connection
from conveyor_django.models import Worker

from ..support.connections import Connect
from ..support.factories import WorkerFactory, in_seconds
from ..support.waits import backend_pid, wait_until_gone
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db

# Shorter than any server has been up when a test runs, so that a missing lock counts.
SHORT = 0.001


@pytest.mark.parametrize(("silence", "dead"), [(0, False), (30, False), (30.000001, True), (3600, True)])
def test_silent_for_longer_than_its_lease(owner: uuid.UUID, silence: float, dead: bool) -> None:
    WorkerFactory(incarnation=owner, lease_seconds=30, last_seen=NOW - dt.timedelta(seconds=silence))
    assert Worker.objects.find_dead_workers(now=NOW) == ({owner: True} if dead else {})


def test_each_by_its_own_lease(owner: uuid.UUID) -> None:
    seen = NOW - dt.timedelta(seconds=5)
    WorkerFactory(incarnation=owner, lease_seconds=1, last_seen=seen)
    WorkerFactory(lease_seconds=10, last_seen=seen)
    assert Worker.objects.find_dead_workers(now=NOW) == {owner: True}


def test_without_now_the_database_s_clock_rules(owner: uuid.UUID, clock: Clock) -> None:
    # Silent only since after the transaction began.
    with clock() as window:
        pass
    WorkerFactory(incarnation=owner, lease_seconds=0, last_seen=window.opened)
    assert Worker.objects.find_dead_workers() == {owner: True}


def test_a_lock_that_is_gone_is_noticed_before_the_silence(
    owner: uuid.UUID, connect: Connect, watcher: Connection
) -> None:
    WorkerFactory(incarnation=owner, holds_lock=True, lease_seconds=SHORT, last_seen=in_seconds(60))
    session = connect()
    assert Worker.objects.hold_worker_lock(incarnation=owner, on=session)
    assert Worker.objects.find_dead_workers() == {}
    pid = backend_pid(session)
    session.close()
    wait_until_gone(watcher, pid)
    assert Worker.objects.find_dead_workers() == {owner: False}


def test_behind_a_pooler_no_lock_is_expected(owner: uuid.UUID) -> None:
    WorkerFactory(incarnation=owner, holds_lock=False, lease_seconds=SHORT, last_seen=in_seconds(60))
    assert Worker.objects.find_dead_workers() == {}


def test_after_a_restart_of_the_server_nobody_is_dead_for_a_lease(owner: uuid.UUID) -> None:
    # A lease longer than the server can have been up: its sessions may only just be coming back.
    WorkerFactory(incarnation=owner, holds_lock=True, lease_seconds=1e9)
    assert Worker.objects.find_dead_workers() == {}


def test_incarnations_whose_keys_are_negative_or_large(connect: Connect) -> None:
    # The lock's 64-bit key is shown in two unsigned halves; each of these must come together again.
    session = connect()
    for n in range(64):
        incarnation = uuid.UUID(int=n)
        WorkerFactory(incarnation=incarnation, holds_lock=True, lease_seconds=SHORT, last_seen=in_seconds(60))
        assert Worker.objects.hold_worker_lock(incarnation=incarnation, on=session)
    assert Worker.objects.find_dead_workers() == {}
