"""Queues: which are listed, pause and resume."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from conveyor_django.models import Queue

from ..support.factories import JobFactory, QueueFactory
from .client import Api, answer, problem, with_token

pytestmark = pytest.mark.django_db


def listed(api: Api) -> dict[str, dict]:
    return {queue["name"]: queue for queue in answer(api.get("/queues"))["queues"]}


def test_declared_queues_are_listed_with_their_settings(api: Api) -> None:
    QueueFactory(name="orders", exact_cap=4, paused=True)
    found = listed(api)
    assert found["default"] == {
        "name": "default", "paused": False, "soft_cap": None, "exact_cap": None, "key_cap": None,
    }  # fmt: skip
    assert (found["orders"]["exact_cap"], found["orders"]["paused"]) == (4, True)


def test_where_any_queue_is_allowed_those_that_have_ready_jobs_or_settings_are_listed(
    api: Api, settings: Settings
) -> None:
    settings.TASKS = {"default": {"BACKEND": "conveyor_django.backend.ConveyorBackend", "QUEUES": []}}
    JobFactory(queue="a")
    QueueFactory(name="b")
    assert list(listed(api)) == ["a", "b"]


def test_a_token_sees_its_own_queues(db: None) -> None:
    QueueFactory(name="default", paused=True)
    assert list(listed(with_token("read", queues=["orders", "absent"]))) == ["orders"]


def test_a_queue_is_paused_and_resumed_and_twice_is_once(api: Api) -> None:
    for _ in range(2):
        assert answer(api.post("/queues/orders/pause"))["paused"] is True
    assert Queue.objects.get(pk="orders").paused
    for _ in range(2):
        assert answer(api.post("/queues/orders/resume"))["paused"] is False
    assert not Queue.objects.get(pk="orders").paused


def test_resuming_a_queue_without_settings_makes_none(api: Api) -> None:
    assert answer(api.post("/queues/orders/resume"))["paused"] is False
    assert not Queue.objects.exists()


def test_a_queue_s_name_may_have_any_characters(api: Api, settings: Settings) -> None:
    settings.TASKS = {"default": {"BACKEND": "conveyor_django.backend.ConveyorBackend", "QUEUES": ["a/b c"]}}
    assert answer(api.post("/queues/a/b%20c/pause"))["name"] == "a/b c"


@pytest.mark.parametrize("name", ["absent", "a%00b", "q" * 129, "'; DROP TABLE conveyor_queue; --", "/", "%2e%2e"])
def test_a_queue_that_is_not_there(api: Api, name: str) -> None:
    for verb in ("pause", "resume"):
        body = problem(api.post(f"/queues/{name}/{verb}"), 404, "not-found")
        assert "orders" not in str(body)
    assert not Queue.objects.exists()


def test_another_s_queue_is_refused_whether_there_is_one_or_not(db: None) -> None:
    api = with_token(queues=["orders"])
    assert problem(api.post("/queues/default/pause"), 403) == problem(api.post("/queues/absent/pause"), 403)
    assert not Queue.objects.exists()
    answer(api.post("/queues/orders/pause"))


def test_each_needs_its_verb(db: None) -> None:
    without = with_token("enqueue", "read", "inspect", "cancel", "retry")
    for verb in ("pause", "resume"):
        problem(without.post(f"/queues/orders/{verb}"), 403)
    problem(with_token("pause").get("/queues"), 403)
