"""The CHECK constraints: what must never be stored is refused, whoever writes it."""

from __future__ import annotations

import math
import uuid
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from conveyor_django.models import Job, Queue

from ..support.factories import CronFactory, JobFactory, PermitFactory, QueueFactory
from .conftest import NOW

pytestmark = pytest.mark.django_db

LEASE = {"lease_owner": uuid.UUID(int=1), "lease_expires_at": NOW}

REFUSED: list[tuple[str, str, dict[str, Any]]] = [
    ("conveyor_job_state", "ready", {"state": "limbo"}),
    ("conveyor_job_state", "ready", {"state": ""}),
    ("conveyor_job_priority", "ready", {"priority": 101}),
    ("conveyor_job_priority", "ready", {"priority": -101}),
    ("conveyor_job_lease", "running", {"lease_owner": None}),
    ("conveyor_job_lease", "running", {"lease_expires_at": None}),
    ("conveyor_job_lease", "ready", LEASE),
    ("conveyor_job_lease", "ready", {"lease_owner": uuid.UUID(int=1)}),
    ("conveyor_job_lease", "scheduled", {"lease_expires_at": NOW}),
    ("conveyor_job_lease", "blocked", LEASE),
    ("conveyor_job_lease", "succeeded", LEASE),
    ("conveyor_job_lease", "failed", LEASE),
    ("conveyor_job_lease", "cancelled", LEASE),
    ("conveyor_job_finished", "succeeded", {"finished_at": None}),
    ("conveyor_job_finished", "failed", {"finished_at": None}),
    ("conveyor_job_finished", "cancelled", {"finished_at": None}),
    ("conveyor_job_finished", "ready", {"finished_at": NOW}),
    ("conveyor_job_finished", "running", {"finished_at": NOW}),
    ("conveyor_job_ready_seq", "ready", {"ready_seq": None}),
    ("conveyor_job_blocked", "blocked", {"pending_dependencies": 0}),
    ("conveyor_job_blocked", "ready", {"pending_dependencies": -1}),
    ("conveyor_job_counts", "ready", {"attempt": -1}),
    ("conveyor_job_counts", "ready", {"lost_count": -1}),
    ("conveyor_job_counts", "ready", {"release_count": -1}),
    ("conveyor_job_counts", "ready", {"lease_version": -1}),
    ("conveyor_job_counts", "ready", {"max_attempts": 0}),
    ("conveyor_job_parked", "ready", {"parked": "elsewhere"}),
    ("conveyor_job_parked", "running", {"parked": "key"}),
    ("conveyor_job_parked", "scheduled", {"parked": "task"}),
    ("conveyor_job_parked", "blocked", {"parked": "key"}),
    ("conveyor_job_parked", "cancelled", {"parked": "task"}),
    ("conveyor_job_role", "ready", {"workflow_role": "on_success"}),
    ("conveyor_job_role", "ready", {"workflow_role": "on_monday", "workflow_id": 1}),
]
UNIQUE = {"conveyor_job_key", "conveyor_job_cron_key"}


@pytest.mark.parametrize(("constraint", "state", "change"), REFUSED)
def test_refused(constraint: str, state: str, change: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError, match=f'"{constraint}"'), transaction.atomic():
        JobFactory(**{} if state == "ready" else {state: True}, **change)


def test_every_constraint_is_tried() -> None:
    declared = {constraint.name for constraint in Job._meta.constraints} - UNIQUE
    assert {name for name, _, _ in REFUSED} == declared


@pytest.mark.parametrize("change", [{"priority": 100}, {"priority": -100}, {"max_attempts": 1}])
def test_the_bounds_themselves_are_allowed(change: dict[str, Any]) -> None:
    JobFactory(**change)


def test_a_key_is_unique_in_its_queue() -> None:
    JobFactory(queue="a", idempotency_key="k")
    JobFactory(queue="b", idempotency_key="k")
    with pytest.raises(IntegrityError, match="conveyor_job_key"), transaction.atomic():
        JobFactory(queue="a", idempotency_key="k")


def test_a_cron_entry_s_key_is_unique_over_all_queues() -> None:
    JobFactory(queue="a", idempotency_key="conveyor:cron:x")
    with pytest.raises(IntegrityError, match="conveyor_job_cron_key"), transaction.atomic():
        JobFactory(queue="b", idempotency_key="conveyor:cron:x")


def test_a_permit_s_place_is_unique() -> None:
    PermitFactory(queue="a")
    PermitFactory(queue="b")
    with pytest.raises(IntegrityError, match="conveyor_permit_place"), transaction.atomic():
        PermitFactory(queue="a")


@pytest.mark.parametrize(
    "change",
    [
        {"soft_cap": 0},
        {"exact_cap": 0},
        {"exact_cap": 1001},
        {"key_cap": 0},
        {"key_cap": 1001},
        {"lease_seconds": 0.0},
        {"lease_seconds": -1.0},
        {"lease_seconds": 0.5},
        {"lease_seconds": 86401.0},
        {"lease_seconds": 1e300},
        {"lease_seconds": math.inf},
        {"lease_seconds": math.nan},
        {"retention_seconds": -1.0},
        {"retention_seconds": 1e10},
        {"retention_seconds": math.inf},
        {"retention_seconds": math.nan},
    ],
)
def test_a_queue_s_limits(change: dict[str, Any]) -> None:
    QueueFactory(name="fine", soft_cap=10**6, exact_cap=1000, key_cap=1, lease_seconds=1, retention_seconds=0)
    with pytest.raises(IntegrityError, match="conveyor_queue_limits"), transaction.atomic():
        Queue.objects.filter(pk="fine").update(**change)


@pytest.mark.parametrize(
    "instant", ["infinity", "-infinity", "0044-03-15 BC", "294000-01-01", "9999-12-31 23:59:59+00"]
)
def test_a_cron_entry_s_last_tick_is_one_that_python_can_read(instant: str) -> None:
    CronFactory()
    refused = pytest.raises(IntegrityError, match="conveyor_cron_last_tick")
    with refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE conveyor_cron SET last_tick = %s", (instant,))
