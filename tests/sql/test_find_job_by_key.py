"""find_job_by_key: what a key was enqueued with."""

from __future__ import annotations

import json

import pytest

from conveyor_django.models import Job

from ..support.factories import JobFactory

pytestmark = pytest.mark.django_db


def test_it_names_the_job_and_its_payload() -> None:
    job = JobFactory(idempotency_key="k", task="t", payload__args=[1, "é"], payload__kwargs={"a": None})
    found = Job.objects.find_job_by_key(queue="default", idempotency_key="k")
    assert found is not None
    assert (found[0], found[1], json.loads(found[2]), json.loads(found[3])) == (
        job.id, "t", [1, "é"], {"a": None},
    )  # fmt: skip


@pytest.mark.parametrize(("queue", "key"), [("other", "k"), ("default", "K"), ("default", "")])
def test_another_queue_or_key_finds_nothing(queue: str, key: str) -> None:
    JobFactory(idempotency_key="k")
    assert Job.objects.find_job_by_key(queue=queue, idempotency_key=key) is None


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_ended_jobs_are_found_too(state: str) -> None:
    JobFactory(**{state: True}, idempotency_key="k")
    assert Job.objects.find_job_by_key(queue="default", idempotency_key="k") is not None
