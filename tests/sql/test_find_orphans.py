"""find_orphans: rows without a job, jobs without a payload."""

from __future__ import annotations

import pytest
from django.db import connection

from conveyor_django.managers.looking import LookManager
from conveyor_django.models import Dependency, Payload

from ..support.factories import AttemptFactory, JobFactory, LedgerFactory

pytestmark = pytest.mark.django_db


def test_none() -> None:
    AttemptFactory(job=JobFactory(succeeded=True))
    assert LookManager().find_orphans(limit=10) == []


def test_each_kind() -> None:
    gone, bare = JobFactory(), JobFactory()
    AttemptFactory(job=gone)
    LedgerFactory(job=gone)
    Dependency.objects.create(job=gone, needs_id=gone.pk - 1)
    Payload.objects.filter(job=bare).delete()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM conveyor_job WHERE id = %s", [gone.pk])
    assert sorted(LookManager().find_orphans(limit=10)) == [
        ("attempt", gone.pk), ("edge", gone.pk), ("job", bare.pk), ("ledger", gone.pk), ("payload", gone.pk),
    ]  # fmt: skip


def test_among_the_oldest_rows_alone() -> None:
    first, second = JobFactory(), JobFactory()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM conveyor_job WHERE id = %s", [second.pk])
    assert LookManager().find_orphans(limit=1) == []
    assert LookManager().find_orphans(limit=2) == [("payload", second.pk)]
    assert first.pk < second.pk
