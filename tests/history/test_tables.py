"""The final tables, read back as plain rows."""

from __future__ import annotations

import pytest
from django.db import connection

from conveyor_django.models import Dependency

from ..support.factories import AttemptFactory, CronFactory, JobFactory, LedgerFactory, utc_now
from .scene import OWNER
from .tables import AttemptRow, CronRow, EdgeRow, EffectRow, JobRow, LedgerRow, Tables

pytestmark = pytest.mark.django_db


def test_every_table_is_read() -> None:
    now = utc_now()
    parent = JobFactory.create(
        failed=True, queue="orders", idempotency_key="k", concurrency_key="c", cancel_requested_at=now
    )
    child = JobFactory.create(blocked=True)
    AttemptFactory.create(job=parent, lease_version=1, verb="rescue", owner=OWNER)
    LedgerFactory.create(job=parent, step="s", lease_version=1, owner=OWNER)
    Dependency.objects.create(job_id=child.pk, needs_id=parent.pk, on_failure="run")
    CronFactory.create(name="e", missed="all", overlap="skip", last_tick=now)
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS test_effect")
        cursor.execute("CREATE TABLE test_effect (name text, job bigint, token bigint, step text)")
        cursor.execute("INSERT INTO test_effect VALUES ('n', 7, 2, NULL)")
    assert Tables.read(connection) == Tables(
        jobs=[
            JobRow(
                id=parent.pk, queue="orders", state="failed", lease_version=1, idempotency_key="k", concurrency_key="c",
                cancel_requested_at=now,
            ),
            JobRow(id=child.pk, queue="default", state="blocked", lease_version=0),
        ],
        ledger=[LedgerRow(job_id=parent.pk, step="s", lease_version=1, owner=OWNER)],
        attempts=[AttemptRow(job_id=parent.pk, lease_version=1, verb="rescue", owner=OWNER)],
        edges=[EdgeRow(job_id=child.pk, needs_id=parent.pk, on_failure="run")],
        crons=[CronRow(name="e", missed="all", overlap="skip", last_tick=now)],
        effects=[EffectRow(name="n", job=7, token=2, step=None)],
    )  # fmt: skip


def test_without_effects() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS test_effect")
    assert Tables.read(connection).effects == []
