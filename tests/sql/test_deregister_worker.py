"""deregister_worker: a worker process says goodbye, or is declared dead."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django.models import Worker

from ..support.factories import WorkerFactory

pytestmark = pytest.mark.django_db


def test_one_row_goes_once(owner: uuid.UUID) -> None:
    WorkerFactory(incarnation=owner, host="web1", pid=7)
    neighbour = WorkerFactory()
    assert Worker.objects.deregister_worker(incarnation=owner) == ("web1", 7)
    assert list(Worker.objects.all()) == [neighbour]
    assert Worker.objects.deregister_worker(incarnation=owner) is None
