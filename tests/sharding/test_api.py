"""The HTTP API where jobs live on two servers: a queue's jobs are found, listed and changed on its own."""

from __future__ import annotations

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from conveyor_django.models import ApiToken, Job, Queue

from ..api import tasks  # noqa: F401 - declares them
from ..api.client import NOTE, SETTLE, answer, pointers, problem, with_token
from ..support.factories import JobFactory


@pytest.fixture
def api(shard: str):
    """Jobs of "orders" live on the second server."""
    return with_token()


def test_a_job_is_stored_and_changed_on_its_queue_s_server(api, shard: str) -> None:
    here, there = answer(api.enqueue(NOTE), 201), answer(api.enqueue(SETTLE, 1, key="k"), 201)
    assert (here["id"].split(":")[0], there["id"].split(":")[0]) == ("default", shard)
    assert (Job.objects.count(), Job.objects.using(shard).count()) == (1, 1)
    assert answer(api.enqueue(SETTLE, 1, key="k"), 200)["id"] == there["id"]
    assert answer(api.get(f"/jobs/{there['id']}"))["task"] == SETTLE
    assert answer(api.post(f"/jobs/{there['id']}/cancel"))["state"] == "cancelled"
    assert answer(api.post(f"/jobs/{there['id']}/retry")) == {"id": there["id"], "state": "ready"}
    assert Job.objects.using(shard).get().state == "ready"


def test_a_list_goes_over_both(api, shard: str) -> None:
    here = [JobFactory() for _ in range(3)]
    # Ids of their own: where a page has come to on one server says nothing about the other.
    with connections[shard].cursor() as cursor:
        cursor.execute("SELECT setval(pg_get_serial_sequence('conveyor_job', 'id'), 1000000000)")
    there = [answer(api.enqueue(SETTLE, i), 201)["id"] for i in range(3)]
    expected = [*(f"default:{job.pk}" for job in reversed(here)), *reversed(there)]
    for limit in (1, 2, 3, 4, 6):
        found, cursor = [], None
        while cursor or not found:
            body = answer(api.get("/jobs", {"limit": limit} | ({"cursor": cursor} if cursor else {})))
            found += [job["id"] for job in body["jobs"]]
            if (cursor := body["next"]) is None:
                break
        assert found == expected
    only = answer(api.get("/jobs", {"queue": "orders"}))
    assert [job["id"] for job in only["jobs"]] == expected[3:]
    first = answer(api.get("/jobs", {"limit": 1}))["next"]
    assert pointers(problem(api.get("/jobs", {"queue": "orders", "cursor": first}), 422)) == ["cursor"]


def test_a_token_is_of_the_first_server_and_its_queues_may_be_of_any(api, shard: str) -> None:
    mine = with_token("read", "enqueue", queues=["orders"])
    assert (ApiToken.objects.count(), ApiToken.objects.using(shard).count()) == (2, 0)
    JobFactory()
    made = answer(mine.enqueue(SETTLE, 1), 201)
    assert [job["id"] for job in answer(mine.get("/jobs"))["jobs"]] == [made["id"]]


def test_a_batch_is_for_one_server(api, shard: str) -> None:
    refused = api.post("/batch", {"jobs": [{"task": NOTE}, {"task": SETTLE, "args": [1]}]})
    assert pointers(problem(refused, 422)) == ["#/jobs/1"]
    assert not Job.objects.exists()
    assert not Job.objects.using(shard).exists()


def test_a_queue_is_paused_on_its_own_server(api, shard: str) -> None:
    answer(api.post("/queues/orders/pause"))
    assert (Queue.objects.count(), Queue.objects.using(shard).get().paused) == (0, True)
    listed = {queue["name"]: queue["paused"] for queue in answer(api.get("/queues"))["queues"]}
    assert (listed["orders"], listed["default"]) == (True, False)


def test_queues_are_told_from_their_own_servers_and_no_other_is_asked(api, shard: str) -> None:
    JobFactory()
    for order in range(2):
        answer(api.enqueue(SETTLE, order), 201)
    # Once it lived here.
    JobFactory(queue="orders")
    JobFactory(queue="zoo")
    ready = [(queue["name"], queue["depth"]["ready"]["jobs"]) for queue in answer(api.get("/queues"))["queues"]]
    assert ready == [("default", 1), ("orders", 2), ("zoo", 1)]
    with CaptureQueriesContext(connections[shard]) as captured:
        listed = answer(with_token("read", queues=["default"]).get("/queues"))["queues"]
    assert [queue["name"] for queue in listed] == ["default"]
    assert not captured.captured_queries


def test_ready_looks_at_both(api, shard: str) -> None:
    assert answer(api.get("/health/ready")) == {"status": "ready"}
    api.client.raise_request_exception = False
    with connections[shard].cursor() as cursor:
        cursor.execute("ALTER TABLE django_migrations RENAME TO hidden")
        try:
            problem(api.get("/health/ready"), 503, "not-ready")
        finally:
            cursor.execute("ALTER TABLE hidden RENAME TO django_migrations")
