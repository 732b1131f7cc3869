"""Queues: which are listed and how they stand, pause and resume."""

from __future__ import annotations

import json
from functools import partial

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from conveyor_django.api import queues
from conveyor_django.models import Queue
from conveyor_django.operate.overview import Moment

from ..support.factories import JobFactory, QueueFactory, in_seconds
from .client import ROOT, Api, answer, problem, with_token

pytestmark = pytest.mark.django_db


SETTINGS = {"paused": False, "soft_cap": None, "exact_cap": None, "key_cap": None}
STATES = ["blocked", "scheduled", "ready", "parked", "running", "failed"]


def listed(api: Api) -> dict[str, dict]:
    return {queue["name"]: queue for queue in answer(api.get("/queues"))["queues"]}


def depth(queue: dict) -> dict[str, int]:
    """Return the jobs of those states that have any. Fails where one was estimated."""
    assert all(count["exact"] for count in queue["depth"].values())
    return {state: count["jobs"] for state, count in queue["depth"].items() if count["jobs"]}


def one_in_each_state(queue: str) -> None:
    traits = ["blocked", "scheduled", "parked_by_key", "running", "failed", "succeeded", "cancelled"]
    for trait in traits:
        JobFactory(queue=queue, **{trait: True})
    JobFactory(queue=queue, run_at=in_seconds(-3600), created_at=in_seconds(-3600))


def test_declared_queues_are_listed_with_their_settings(api: Api) -> None:
    QueueFactory(name="orders", exact_cap=4, paused=True)
    found = listed(api)
    nothing = {state: {"jobs": 0, "exact": True} for state in STATES}
    assert found["default"] == {"name": "default", **SETTINGS, "depth": nothing, "oldest_ready_seconds": None}
    assert (found["orders"]["exact_cap"], found["orders"]["paused"]) == (4, True)


def test_they_are_listed_with_their_jobs_by_state_and_since_when_the_oldest_is_ready(api: Api) -> None:
    one_in_each_state("orders")
    JobFactory(queue="orders")
    found = listed(api)
    assert depth(found["orders"]) == {"blocked": 1, "scheduled": 1, "ready": 2, "parked": 1, "running": 1, "failed": 1}
    assert 3600 <= found["orders"]["oldest_ready_seconds"] < 7200
    assert (depth(found["default"]), found["default"]["oldest_ready_seconds"]) == ({}, None)


def test_names_and_numbers_are_those_of_conveyor_status(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    one_in_each_state("orders")
    QueueFactory(name="orders", soft_cap=2, exact_cap=3, key_cap=4)
    call_command("conveyor_status", json=True)
    [said] = json.loads(capsys.readouterr().out)["databases"]
    status = {queue["name"]: queue for queue in said["queues"]}
    found = listed(api)
    assert list(found) == list(status)
    for name, queue in found.items():
        assert queue.keys() <= status[name].keys()
        moving = {"oldest_ready_seconds"}
        assert all(queue[key] == status[name][key] for key in queue.keys() - moving)


def test_what_is_beyond_the_bound_is_estimated_and_said_to_be(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "Moment", partial(Moment, counted=3))
    JobFactory.create_batch(5, queue="orders", scheduled=True)
    assert listed(api)["orders"]["depth"]["scheduled"] == {"jobs": 5, "exact": False}
    assert listed(api)["orders"]["depth"]["blocked"] == {"jobs": 0, "exact": True}


def test_no_queue_costs_a_statement_and_no_statement_lists_jobs(api: Api) -> None:
    def statements() -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            answer(api.get("/queues"))
        return [query["sql"] for query in captured]

    statements()
    before = statements()
    for number in range(5):
        one_in_each_state(f"q{number}")
    assert statements() == before
    # Counted as the overview does it, whose plans are held to their indexes.
    assert sum("conveyor_job" in text for text in before) == 2


def test_where_any_queue_is_allowed_those_that_have_jobs_or_settings_are_listed(api: Api, settings: Settings) -> None:
    settings.TASKS = {"default": {"BACKEND": "conveyor_django.backend.ConveyorBackend", "QUEUES": []}}
    JobFactory(queue="a")
    QueueFactory(name="b")
    JobFactory(queue="c", running=True)
    JobFactory(queue="d", succeeded=True)
    assert list(listed(api)) == ["a", "b", "c"]


def test_a_token_sees_its_own_queues(db: None) -> None:
    QueueFactory(name="default", paused=True)
    mine = with_token("read", queues=["orders", "absent"])
    alone = listed(mine)
    assert list(alone) == ["orders"]
    # Whatever happens in the others.
    for queue in ("default", "another"):
        one_in_each_state(queue)
    assert listed(mine) == alone
    one_in_each_state("orders")
    assert listed(mine).keys() == {"orders"}
    assert sum(depth(listed(mine)["orders"]).values()) == 6


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


def test_the_answer_to_a_change_has_the_settings_and_no_jobs(api: Api) -> None:
    JobFactory(queue="orders")
    QueueFactory(name="orders", exact_cap=4)
    expected = {"name": "orders", **SETTINGS, "exact_cap": 4}
    assert answer(api.post("/queues/orders/pause")) == expected | {"paused": True}
    assert answer(api.post("/queues/orders/resume")) == expected
    paths = answer(api.get("/openapi.json"))["paths"]
    for verb in ("pause", "resume"):
        said = paths[f"{ROOT}/queues/{{name}}/{verb}"]["post"]["responses"]["200"]["content"]["application/json"]
        assert said["schema"] == {"$ref": "#/components/schemas/QueueSettings"}


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
