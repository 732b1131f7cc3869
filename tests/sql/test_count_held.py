"""count_held: what an owner still holds."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django.models import Job

from ..support.factories import JobFactory

pytestmark = pytest.mark.django_db


def test_running_jobs_of_the_owner(owner: uuid.UUID, other: uuid.UUID) -> None:
    assert Job.objects.count_held(owner=owner) == 0
    JobFactory(running=True, lease_owner=owner)
    JobFactory(lapsed=True, lease_owner=owner)
    JobFactory(running=True, lease_owner=other)
    JobFactory()
    assert Job.objects.count_held(owner=owner) == 2
