"""deregister_worker: a worker process says goodbye, or is declared dead."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django.models import Worker

from ..support.factories import WorkerFactory

pytestmark = pytest.mark.django_db


def test_one_row_goes_once(owner: uuid.UUID) -> None:
    WorkerFactory(incarnation=owner)
    neighbour = WorkerFactory()
    assert Worker.objects.deregister_worker(incarnation=owner)
    assert list(Worker.objects.all()) == [neighbour]
    assert not Worker.objects.deregister_worker(incarnation=owner)
