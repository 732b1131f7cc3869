"""replace_job: a job that waits ends and gives its key up; any other keeps both."""

from __future__ import annotations

from typing import Any

import pytest

from conveyor_django.models import Job, Payload

from ..support.factories import JobFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("fields", [{}, {"scheduled": True}, {"parked": "key"}, {"parked": "task"}], ids=str)
def test_a_job_that_waits_is_cancelled_and_has_no_key(fields: dict[str, Any]) -> None:
    job = JobFactory(**fields, idempotency_key="k")
    assert Job.objects.replace_job(job.id, idempotency_key="k", now=NOW)
    job.refresh_from_db()
    assert (job.state, job.finished_at, job.cancel_requested_at) == ("cancelled", NOW, NOW)
    assert (job.idempotency_key, job.parked) == (None, None)


@pytest.mark.parametrize(
    "fields",
    [{"blocked": True}, {"running": True}, {"workflow_id": 7}, {"workflow_id": 7, "succeeded": True},
     {"idempotency_key": "l"}, {"idempotency_key": None}],
    ids=str,
)  # fmt: skip
def test_any_other_stays_as_it_is(fields: dict[str, Any]) -> None:
    job = JobFactory(**{"idempotency_key": "k"} | fields)
    before = Job.objects.values().get()
    assert not Job.objects.replace_job(job.id, idempotency_key="k", now=NOW)
    assert Job.objects.values().get() == before


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_one_that_has_ended_goes_without_its_key(state: str) -> None:
    job = JobFactory(**{state: True}, idempotency_key="k")
    before = Job.objects.values().get()
    assert Job.objects.replace_job(job.id, idempotency_key="k", now=NOW)
    assert Job.objects.values().get() == before | {"idempotency_key": None}


def test_its_payload_stays() -> None:
    job = JobFactory(idempotency_key="k", payload__args=[1])
    Job.objects.replace_job(job.id, idempotency_key="k")
    assert Payload.objects.get(job_id=job.id).args == [1]


def test_a_neighbour_stays() -> None:
    job, neighbour = JobFactory(idempotency_key="k"), JobFactory(queue="orders", idempotency_key="k")
    Job.objects.replace_job(job.id, idempotency_key="k")
    neighbour.refresh_from_db()
    assert (neighbour.state, neighbour.idempotency_key) == ("ready", "k")


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    job = JobFactory(idempotency_key="k")
    with clock() as window:
        Job.objects.replace_job(job.id, idempotency_key="k")
    job.refresh_from_db()
    assert job.finished_at in window
    assert job.cancel_requested_at in window
