"""find_jobs_by_keys: who holds keys, and what they were enqueued with."""

from __future__ import annotations

import json

import pytest

from conveyor_django.models import Job

from ..support.factories import JobFactory

pytestmark = pytest.mark.django_db


def test_each_holder_with_its_state_and_payload() -> None:
    first = JobFactory(idempotency_key="k", task="t", payload__args=[1, "é"], payload__kwargs={"a": None})
    other = JobFactory(idempotency_key="k", queue="orders", scheduled=True)
    JobFactory(idempotency_key="l")
    found = Job.objects.find_jobs_by_keys([("orders", "k"), ("default", "k"), ("default", "m")])
    assert set(found) == {("default", "k"), ("orders", "k")}
    assert found["orders", "k"][:2] == (other.id, other.task)
    holder = found["default", "k"]
    assert (holder.id, holder.task, holder.state, holder.workflow_id) == (first.id, "t", "ready", None)
    assert (json.loads(holder.args), json.loads(holder.kwargs)) == ([1, "é"], {"a": None})


@pytest.mark.parametrize("key", [("other", "k"), ("default", "K"), ("default", "")])
def test_another_queue_or_key_finds_nothing(key: tuple[str, str]) -> None:
    JobFactory(idempotency_key="k")
    JobFactory()
    assert Job.objects.find_jobs_by_keys([key]) == {}


@pytest.mark.parametrize("state", ["running", "succeeded", "failed", "cancelled"])
def test_jobs_that_wait_no_more_are_found_too(state: str) -> None:
    JobFactory(**{state: True}, idempotency_key="k")
    assert Job.objects.find_jobs_by_keys([("default", "k")])["default", "k"].state == state


def test_a_job_of_a_workflow_says_so() -> None:
    JobFactory(idempotency_key="k", workflow_id=7)
    assert Job.objects.find_jobs_by_keys([("default", "k")])["default", "k"].workflow_id == 7


def test_nothing_given_nothing_found() -> None:
    assert Job.objects.find_jobs_by_keys([]) == {}
