"""beat_worker: a sign of life, and the news of one's own death."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django.models import Worker

from ..support.factories import WorkerFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("draining", [False, True])
@pytest.mark.parametrize("holds_lock", [False, True])
def test_it_is_seen_with_its_state(owner: uuid.UUID, draining: bool, holds_lock: bool) -> None:
    WorkerFactory(incarnation=owner, draining=not draining, holds_lock=not holds_lock)
    neighbour = WorkerFactory()
    assert Worker.objects.beat_worker(incarnation=owner, draining=draining, holds_lock=holds_lock, now=NOW)
    worker = Worker.objects.get(pk=owner)
    assert (worker.last_seen, worker.draining, worker.holds_lock) == (NOW, draining, holds_lock)
    assert Worker.objects.get(pk=neighbour.pk).last_seen == neighbour.last_seen


@pytest.mark.parametrize("requested", [False, True])
def test_it_hears_whether_it_is_to_drain(owner: uuid.UUID, requested: bool) -> None:
    WorkerFactory(incarnation=owner, drain_requested_at=NOW if requested else None)
    WorkerFactory(drain_requested_at=None if requested else NOW)
    beat = Worker.objects.beat_worker(incarnation=owner, draining=False, holds_lock=False)
    assert beat is not None
    assert beat.drain_requested is requested


def test_without_now_the_database_s_clock_rules(owner: uuid.UUID, clock: Clock) -> None:
    WorkerFactory(incarnation=owner, last_seen=NOW)
    with clock() as window:
        Worker.objects.beat_worker(incarnation=owner, draining=False, holds_lock=False)
    assert Worker.objects.get().last_seen in window


def test_a_row_that_is_gone_is_said_and_not_made_again(owner: uuid.UUID) -> None:
    assert not Worker.objects.beat_worker(incarnation=owner, draining=False, holds_lock=False)
    assert not Worker.objects.exists()
