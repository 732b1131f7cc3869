"""list_leases: the queues with a lease of their own."""

from __future__ import annotations

import pytest

from conveyor_django.models import Queue

from ..support.factories import QueueFactory

pytestmark = pytest.mark.django_db


def test_only_queues_that_have_one() -> None:
    QueueFactory(name="short", lease_seconds=1.5)
    QueueFactory(name="paused", lease_seconds=60, paused=True)
    QueueFactory(name="plain")
    assert Queue.objects.list_leases() == {"short": 1.5, "paused": 60.0}
