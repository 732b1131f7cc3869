"""The same Idempotency-Key from many requests at once: one job, whoever is first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from django.db import connections
from django.http import HttpResponse

from conveyor_django.models import Job
from conveyor_django.operate.tokens import create_token, revoke_token

from ..support.barriers import Threads, at_once
from ..support.connections import Connect
from ..support.factories import JobFactory, new_job
from ..support.waits import wait_until_blocked
from .client import NOTE, Api, answer, problem, with_token

pytestmark = pytest.mark.django_db(transaction=True)

SIDES = 6


def side(api: Api, send: Callable[[Api], HttpResponse]) -> Callable[[], HttpResponse]:
    """Return a call that sends a request from a thread of its own, with a connection of its own."""

    def call() -> HttpResponse:
        try:
            return send(Api(api.token))
        finally:
            connections["default"].close()

    return call


def test_the_same_request_at_once_is_one_job() -> None:
    api = with_token()
    for round_ in range(3):
        key = f"key-{round_}"
        send = side(api, lambda api, key=key: api.enqueue(NOTE, 1, key=key))
        responses = at_once(*[send] * SIDES)
        assert Counter(response.status_code for response in responses) == {201: 1, 200: SIDES - 1}
        assert len({answer(response, response.status_code)["id"] for response in responses}) == 1
    assert Job.objects.count() == 3


def test_one_key_for_different_work_at_once_is_the_first_s() -> None:
    api = with_token()
    responses = at_once(*[side(api, lambda api, i=i: api.enqueue(NOTE, i, key="k")) for i in range(SIDES)])
    assert Counter(response.status_code for response in responses) == {201: 1, 422: SIDES - 1}
    assert Job.objects.count() == 1


def test_two_batches_with_the_same_keys_in_another_order() -> None:
    api = with_token()
    jobs = [{"task": NOTE, "args": [i], "idempotency_key": f"k{i}"} for i in range(20)]
    sends = [side(api, lambda api, order=order: api.post("/batch", {"jobs": order})) for order in (jobs, jobs[::-1])]
    responses = at_once(*sends)
    bodies = [answer(response, response.status_code)["jobs"] for response in responses]
    assert [job["id"] for job in bodies[0]] == [job["id"] for job in reversed(bodies[1])]
    assert sum(job["created"] for body in bodies for job in body) == Job.objects.count() == 20


def test_a_request_waits_for_one_that_has_not_committed_and_then_is_the_same(
    connect: Connect, sides: Threads, watcher
) -> None:
    api = with_token()
    other = connect()
    with other.transaction():
        Job.objects.enqueue_job(new_job(task=NOTE, args="[1]", idempotency_key="k"), on=other)
        pids: list[int] = []

        def send(on: object) -> HttpResponse:
            connections["default"].ensure_connection()
            pids.append(connections["default"].connection.info.backend_pid)
            return side(api, lambda api: api.enqueue(NOTE, 1, key="k"))()

        running = sides.start(other, send)
        while not pids:
            assert not running.done
        wait_until_blocked(watcher, pids[0])
    assert answer(running.result(), 200)["created"] is False


def test_a_job_that_somebody_holds_is_not_waited_for(connect: Connect) -> None:
    api = with_token()
    job = JobFactory(failed=True)
    holder = connect()
    with holder.transaction():
        holder.execute("SELECT FROM conveyor_job WHERE id = %s FOR UPDATE", (job.pk,))
        response = api.post(f"/jobs/default:{job.pk}/retry")
        problem(response, 409, "locked")
        assert response["Retry-After"] == "2"
    answer(api.post(f"/jobs/default:{job.pk}/retry"))


def test_a_token_that_is_revoked_while_requests_come_lets_none_in_afterwards() -> None:
    row, token = create_token("test", queues=None, verbs=["read"])
    api = Api(token)
    at_once(*[side(api, lambda api: api.get("/queues"))] * SIDES, lambda: _revoked(row.prefix))
    problem(api.get("/queues"), 401)


def _revoked(prefix: str) -> None:
    try:
        assert revoke_token(prefix)
    finally:
        connections["default"].close()
