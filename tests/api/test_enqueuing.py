"""POST /jobs: what is stored, under which key, with which trace; and what is refused."""

from __future__ import annotations

import datetime as dt
import json
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.urls import resolve

from conveyor_django.models import Job
from conveyor_django.testing import drain

from .client import NOTE, ROOT, SECRET, SETTLE, Api, answer, pointers, problem, with_token

pytestmark = pytest.mark.django_db

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def only_job() -> Job:
    return Job.objects.select_related("payload").get()


def test_a_job_is_stored_as_its_task_declares_it(api: Api) -> None:
    response = api.enqueue(SETTLE, 7, kwargs={"cents": 5})
    job = only_job()
    name = f"default:{job.pk}"
    assert answer(response, 201) == {"id": name, "task": SETTLE, "queue": "orders", "created": True}
    assert (job.queue, job.priority, job.max_attempts, job.state) == ("orders", 5, 3, "ready")
    assert (job.payload.args, job.payload.kwargs) == ([7], {"cents": 5})
    assert response["Location"] == f"{ROOT}/jobs/{name}"
    assert answer(api.client.get(response["Location"], headers={"Authorization": f"Bearer {api.token}"}))["id"] == name


def test_it_runs(api: Api) -> None:
    api.enqueue(SETTLE, 7, kwargs={"cents": 5})
    assert [result.return_value for result in drain()] == [12]


def test_the_caller_s_options_take_the_place_of_the_task_s(api: Api) -> None:
    later = "2035-01-31T08:00:00+02:00"
    api.enqueue(SETTLE, 7, queue="default", priority=-3, max_attempts=9, run_after=later)
    job = only_job()
    assert (job.queue, job.priority, job.max_attempts, job.state) == ("default", -3, 9, "scheduled")
    assert job.run_at == dt.datetime(2035, 1, 31, 6, tzinfo=dt.UTC)


def test_a_key_makes_a_second_request_harmless(api: Api) -> None:
    first = answer(api.enqueue(NOTE, 1, key="k"), 201)
    # Quoted, as the IETF's draft has it, it is the same key.
    for key in ("k", '"k"'):
        again = answer(api.enqueue(NOTE, 1, key=key), 200)
        assert again == first | {"created": False}
    assert only_job().idempotency_key == "k"


def test_quotes_and_backslashes_in_a_quoted_key_are_its_own(api: Api) -> None:
    answer(api.enqueue(NOTE, 1, key=r'"a \"b\" \\"'), 201)
    assert only_job().idempotency_key == r'a "b" \ '.strip()


def test_a_key_belongs_to_its_queue(api: Api) -> None:
    answer(api.enqueue(NOTE, 1, key="k"), 201)
    answer(api.enqueue(NOTE, 1, key="k", queue="orders"), 201)
    assert Job.objects.count() == 2


def test_a_key_for_other_work_is_refused_without_a_word_about_the_first(api: Api) -> None:
    api.enqueue(NOTE, "private", key="k")
    for refused in (api.enqueue(NOTE, "other", key="k"), api.enqueue(NOTE, key="k", kwargs={"a": 1})):
        body = problem(refused, 422, "idempotency-key-reused")
        assert "private" not in str(body)
    assert only_job().payload.args == ["private"]


@pytest.mark.parametrize("key", ["", '"', '"a', '"a"b', "a b", "ä", "k" * 256, '""', '"a\\b"', "conveyor:cron:x:1"])
def test_a_key_that_is_none_is_refused(api: Api, key: str) -> None:
    body = problem(api.enqueue(NOTE, 1, key=key), 422, "invalid")
    assert pointers(body) in (["Idempotency-Key"], ["#"])
    assert not Job.objects.exists()


def test_the_trace_of_the_request_is_kept(api: Api) -> None:
    api.post("/jobs", {"task": NOTE}, traceparent=TRACE, tracestate="vendor=1")
    payload = only_job().payload
    assert (payload.traceparent, payload.tracestate) == (TRACE, "vendor=1")
    assert answer(api.get(f"/jobs/default:{payload.pk}"))["traceparent"] == TRACE


@pytest.mark.parametrize(
    "given", ["", "nonsense", TRACE + "-00", TRACE.replace("00f067aa0ba902b7", "0" * 16), "ff" + TRACE[2:]]
)
def test_a_malformed_trace_is_ignored_as_w3c_asks(api: Api, given: str) -> None:
    answer(api.post("/jobs", {"task": NOTE}, traceparent=given, tracestate="vendor=1"), 201)
    assert only_job().payload.traceparent is None
    assert only_job().payload.tracestate is None


def test_a_trace_ends_with_its_request(api: Api) -> None:
    api.post("/jobs", {"task": NOTE}, traceparent=TRACE)
    api.post("/jobs", {"task": NOTE})
    assert [job.payload.traceparent for job in Job.objects.order_by("pk")] == [TRACE, None]


def test_tasks_that_were_not_offered_are_told_from_none_by_nothing(api: Api) -> None:
    bodies = []
    for path in (SECRET, "tests.api.tasks.absent", "no.such.module", "os.system", "nothing", "tests.api.tasks"):
        body = problem(api.enqueue(path), 422, "invalid")
        assert pointers(body) == ["#/task"]
        bodies.append(json.dumps(body).replace(path, "…"))
    assert len(set(bodies)) == 1
    assert not Job.objects.exists()


def test_no_module_is_imported_for_a_caller(api: Api) -> None:
    sys.modules.pop("antigravity", None)
    problem(api.enqueue("antigravity.fly"), 422)
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize(
    ("job", "where"),
    [
        ({}, "#/task"),
        ({"task": NOTE, "arguments": []}, "#/arguments"),
        ({"task": 5}, "#/task"),
        ({"task": ""}, "#/task"),
        ({"task": NOTE, "args": {}}, "#/args"),
        ({"task": NOTE, "kwargs": []}, "#/kwargs"),
        ({"task": NOTE, "priority": 101}, "#/priority"),
        ({"task": NOTE, "priority": "1"}, "#/priority"),
        ({"task": NOTE, "priority": True}, "#/priority"),
        ({"task": NOTE, "max_attempts": 0}, "#/max_attempts"),
        ({"task": NOTE, "max_attempts": 2**31}, "#/max_attempts"),
        ({"task": NOTE, "run_after": "2035-01-31"}, "#/run_after"),
        ({"task": NOTE, "run_after": "2035-01-31T08:00:00"}, "#/run_after"),
        ({"task": NOTE, "run_after": 1}, "#/run_after"),
        ({"task": NOTE, "run_after": "9999-12-31T23:59:59-14:00"}, "#/run_after"),
        ({"task": NOTE, "queue": "absent"}, "#/queue"),
        ({"task": NOTE, "queue": "a\x00b"}, "#/queue"),
        ({"task": NOTE, "queue": "q" * 129}, "#/queue"),
        ({"task": SETTLE}, "#"),
        ({"task": SETTLE, "args": [1, 2]}, "#"),
        ({"task": SETTLE, "args": [1], "kwargs": {"dollars": 1}}, "#"),
        ([], "#"),
        (None, "#"),
        ("text", "#"),
    ],
    ids=str,
)
def test_a_wrong_job_is_refused_by_name(api: Api, job: object, where: str) -> None:
    body = problem(api.post("/jobs", job), 422, "invalid")
    assert pointers(body) == [where]
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("job", "named"),
    [
        ({"task": NOTE, "color": "red"}, "#/color in the body is not as it has to be: Extra inputs are not permitted."),
        ({}, "#/task in the body is not as it has to be: Field required."),
        ("text", "The body is not as it has to be: "),
    ],
)
def test_the_detail_names_what_is_wrong(api: Api, job: object, named: str) -> None:
    assert problem(api.post("/jobs", job), 422, "invalid")["detail"].startswith(named)


def test_what_other_queues_there_are_is_told_nobody(api: Api) -> None:
    assert "orders" not in str(problem(api.enqueue(NOTE, queue="absent"), 422))


def test_arguments_that_are_too_large_are_too_large(api: Api, settings) -> None:
    settings.CONVEYOR = {"MAX_PAYLOAD_BYTES": 20}
    problem(api.enqueue(NOTE, "x" * 30), 413, "too-large")


def test_an_enqueue_is_no_part_of_the_request_s_transaction(api: Api) -> None:
    assert resolve(f"{ROOT}/jobs").func._non_atomic_requests == {"default"}


def test_another_backend_is_the_project_s_mistake(api: Api, settings) -> None:
    settings.TASKS = {"default": {"BACKEND": "conveyor_django.backend.DummyBackend"}}
    with pytest.raises(ImproperlyConfigured, match="stores no jobs"):
        api.enqueue(NOTE)


def test_only_the_verb_enqueue_enqueues(db: None) -> None:
    problem(with_token("read", "inspect", "cancel", "retry", "pause").enqueue(NOTE), 403, "forbidden")
    answer(with_token("enqueue").enqueue(NOTE), 201)
