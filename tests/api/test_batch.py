"""POST /batch: all jobs or none, and errors that say which."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from conveyor_django.conf import MAX_KEY_LENGTH
from conveyor_django.models import Job
from conveyor_django.registry import offer

from . import tasks
from .client import NOTE, SECRET, SETTLE, Api, answer, pointers, problem, with_token

pytestmark = pytest.mark.django_db


def batch(api: Api, *jobs: object, **headers: str):
    return api.post("/batch", {"jobs": list(jobs)}, **headers)


def test_all_are_stored_in_the_order_given(api: Api) -> None:
    body = answer(batch(api, {"task": NOTE, "args": [1]}, {"task": SETTLE, "args": [2]}, {"task": NOTE}), 201)
    assert [(job["task"], job["queue"], job["created"]) for job in body["jobs"]] == [
        (NOTE, "default", True), (SETTLE, "orders", True), (NOTE, "default", True),
    ]  # fmt: skip
    stored = {f"default:{job.pk}": job.payload.args for job in Job.objects.select_related("payload")}
    assert [stored[job["id"]] for job in body["jobs"]] == [[1], [2], []]


def test_each_job_has_a_key_of_its_own(api: Api) -> None:
    one, two = {"task": NOTE, "args": [1], "idempotency_key": "a"}, {"task": NOTE, "args": [2], "idempotency_key": "b"}
    first = answer(batch(api, one), 201)["jobs"]
    # Known already, new, and the same as the one before it.
    second = answer(batch(api, one, two, two), 201)["jobs"]
    assert [job["created"] for job in second] == [False, True, False]
    assert (second[0]["id"], second[1]["id"]) == (first[0]["id"], second[2]["id"])
    again = answer(batch(api, one, two), 200)["jobs"]
    assert [job["created"] for job in again] == [False, False]
    assert Job.objects.count() == 2


def test_one_bad_job_keeps_all_from_being_stored_and_every_bad_one_is_named(api: Api) -> None:
    good = {"task": NOTE}
    bad_shape = batch(api, good, {"task": 1}, good, {"task": NOTE, "priority": 1000})
    assert pointers(problem(bad_shape, 422)) == ["#/jobs/1/task", "#/jobs/3/priority"]
    bad_task = batch(api, good, {"task": SECRET}, good, {"task": "no.such"}, {"task": NOTE, "queue": "absent"})
    assert pointers(problem(bad_task, 422)) == ["#/jobs/1/task", "#/jobs/3/task", "#/jobs/4/queue"]
    bad_call = batch(api, good, {"task": SETTLE}, good, {"task": SETTLE, "args": ["a\x00"]})
    body = problem(bad_call, 422)
    assert pointers(body) == ["#/jobs/1", "#/jobs/3"]
    assert "jobs[1]" in body["detail"]
    assert not Job.objects.exists()


@pytest.mark.parametrize("key", ["", "ä", "a\nb", "k" * (MAX_KEY_LENGTH + 1), 1, [], "conveyor:x"])
def test_a_key_that_is_none_is_refused(api: Api, key: object) -> None:
    body = problem(batch(api, {"task": NOTE}, {"task": NOTE, "idempotency_key": key}), 422)
    assert pointers(body) == ["#/jobs/1" if key == "conveyor:x" else "#/jobs/1/idempotency_key"]
    answer(batch(api, {"task": NOTE, "idempotency_key": "k" * MAX_KEY_LENGTH}), 201)


def test_a_key_of_other_work_keeps_all_from_being_stored(api: Api) -> None:
    answer(batch(api, {"task": NOTE, "args": ["private"], "idempotency_key": "k"}), 201)
    refused = batch(api, {"task": NOTE}, {"task": NOTE, "args": [1], "idempotency_key": "k"})
    body = problem(refused, 422, "idempotency-key-reused")
    assert "private" not in str(body)
    assert pointers(body) == ["#/jobs/1"]
    assert Job.objects.count() == 1


def test_of_two_queues_with_the_same_key_the_one_that_is_in_the_way_is_named(api: Api) -> None:
    other = {"task": NOTE, "args": [1], "idempotency_key": "k"}
    answer(batch(api, other), 201)
    body = problem(batch(api, other | {"queue": "orders"}, other | {"args": [2]}), 422, "idempotency-key-reused")
    assert pointers(body) == ["#/jobs/1"]


def test_a_key_in_the_header_names_one_job_and_not_a_batch(api: Api) -> None:
    refused = batch(api, {"task": NOTE}, **{"Idempotency-Key": "k"})
    assert pointers(problem(refused, 422)) == ["Idempotency-Key"]
    assert not Job.objects.exists()


def test_its_size_is_limited_before_its_jobs_are_looked_at(api: Api, settings: Settings) -> None:
    settings.CONVEYOR = {"API_MAX_BATCH": 2}
    answer(batch(api, {"task": NOTE}, {"task": NOTE}), 201)
    problem(batch(api, {"task": NOTE}, {"task": NOTE}, "no job at all"), 413, "too-large")
    assert Job.objects.count() == 2


@pytest.mark.parametrize("body", [{"jobs": []}, {}, {"jobs": {}}, {"jobs": [], "more": 1}, [], {"jobs": [[]]}], ids=str)
def test_what_is_no_batch_is_refused(api: Api, body: object) -> None:
    problem(api.post("/batch", body), 422)


def test_a_queue_that_is_not_the_token_s_is_refused_with_the_rest(db: None) -> None:
    api = with_token(queues=["default"])
    refused = batch(api, {"task": NOTE}, {"task": SETTLE, "args": [1]})
    assert pointers(problem(refused, 403, "forbidden")) == ["#/jobs/1"]
    assert not Job.objects.exists()


def test_a_batch_is_for_one_backend(api: Api, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    conveyor = {"BACKEND": "conveyor_django.backend.ConveyorBackend", "QUEUES": []}
    settings.TASKS = {"default": conveyor, "second": conveyor}
    monkeypatch.setattr(tasks, "elsewhere", tasks.note.using(backend="second"), raising=False)
    elsewhere = "tests.api.tasks.elsewhere"
    offer(elsewhere)
    body = problem(batch(api, {"task": NOTE}, {"task": elsewhere}), 422)
    assert pointers(body) == ["#/jobs/1"]
    assert "another place" in body["detail"]
    assert answer(batch(api, {"task": elsewhere}, {"task": elsewhere}), 201)


def test_the_trace_of_the_request_is_every_job_s(api: Api) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    answer(batch(api, {"task": NOTE}, {"task": NOTE}, traceparent=trace), 201)
    assert {job.payload.traceparent for job in Job.objects.all()} == {trace}


def test_many_jobs_are_few_statements(api: Api) -> None:
    # The first request notes that the token is used.
    answer(batch(api, {"task": NOTE}), 201)
    counts = []
    for number in (2, 200):
        with CaptureQueriesContext(connection) as captured:
            answer(batch(api, *[{"task": NOTE, "args": [i]} for i in range(number)]), 201)
        counts.append(len(captured))
    assert counts[0] == counts[1]
