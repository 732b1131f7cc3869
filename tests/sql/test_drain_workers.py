"""drain_workers: those that are named are asked, once."""

from __future__ import annotations

import datetime as dt
import uuid

import pytest

from conveyor_django.models import Worker

from ..support.factories import WorkerFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db

LATER = NOW + dt.timedelta(minutes=1)


def test_those_that_are_named_are_asked() -> None:
    one, other, bystander = WorkerFactory.create_batch(3)
    asked = Worker.objects.drain_workers([one.pk, other.pk, uuid.uuid4()], now=NOW)
    assert asked == {one.pk, other.pk}
    requested = dict(Worker.objects.values_list("pk", "drain_requested_at"))
    assert requested == {one.pk: NOW, other.pk: NOW, bystander.pk: None}


def test_asking_again_changes_nothing() -> None:
    worker = WorkerFactory()
    Worker.objects.drain_workers([worker.pk], now=NOW)
    assert Worker.objects.drain_workers([worker.pk], now=LATER) == {worker.pk}
    assert Worker.objects.get().drain_requested_at == NOW


def test_nobody() -> None:
    WorkerFactory()
    assert Worker.objects.drain_workers([], now=NOW) == set()
    assert Worker.objects.get().drain_requested_at is None


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    worker = WorkerFactory()
    with clock() as window:
        Worker.objects.drain_workers([worker.pk])
    assert Worker.objects.get().drain_requested_at in window
