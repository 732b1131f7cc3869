"""register_worker: a worker process makes itself known."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import IntegrityError

from conveyor_django.models import Worker

from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


def register(incarnation: uuid.UUID, **fields: Any) -> None:
    """Register a process."""
    defaults: dict[str, Any] = {
        "host": "h", "pid": 2, "supervisor_pid": 1, "queues": ["a", "ä"], "slots": 8, "lease_seconds": 12.5,
        "holds_lock": True,
    }  # fmt: skip
    Worker.objects.register_worker(**defaults | {"incarnation": incarnation} | fields)


def test_what_is_stored(owner: uuid.UUID) -> None:
    register(owner, now=NOW)
    worker = Worker.objects.get()
    assert (worker.incarnation, worker.host, worker.pid, worker.supervisor_pid) == (owner, "h", 2, 1)
    assert (worker.queues, worker.slots, worker.lease_seconds) == (["a", "ä"], 8, 12.5)
    assert (worker.holds_lock, worker.draining) == (True, False)
    assert (worker.started_at, worker.last_seen) == (NOW, NOW)


def test_without_now_the_database_s_clock_rules(owner: uuid.UUID, clock: Clock) -> None:
    with clock() as window:
        register(owner)
    assert Worker.objects.get().last_seen in window


def test_an_incarnation_lives_once(owner: uuid.UUID) -> None:
    register(owner)
    with pytest.raises(IntegrityError):
        register(owner)
