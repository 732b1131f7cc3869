"""Whatever goes wrong is a problem: unknown addresses, other methods, too many requests, no database, a defect."""

from __future__ import annotations

import logging

import pytest
from django.core.exceptions import DisallowedHost, RequestDataTooBig, TooManyFieldsSent
from django.db import InterfaceError, OperationalError
from django.test import Client
from pytest_django import Settings

from conveyor_django.api import jobs
from conveyor_django.api.problems import problem_of, too_many
from conveyor_django.models import Job

from .client import NOTE, ROOT, Api, answer, problem, with_token

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "path", ["", "/", "/nothing", "/jobs/", "/jobs/a/b", "/jobs/default:1/explode", "/docs", "/../x"]
)
def test_an_unknown_address(path: str) -> None:
    if path == "":
        path = "/x"
    for method in ("GET", "POST", "DELETE"):
        client = Client(enforce_csrf_checks=True)
        problem(client.generic(method, ROOT + path, content_type="application/json"), 404, "not-found")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/jobs", "GET, HEAD, POST"), ("/batch", "POST"), ("/jobs/default:1", "GET, HEAD"),
        ("/jobs/default:1/cancel", "POST"), ("/queues", "GET, HEAD"), ("/queues/orders/pause", "POST"),
        ("/health/live", "GET, HEAD"), ("/openapi.json", "GET, HEAD"),
    ],
)  # fmt: skip
def test_another_method(api: Api, path: str, allowed: str) -> None:
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - set(allowed.split(", ")):
        # What would be refused in the body of a POST is none of its business.
        response = api.client.generic(method, ROOT + path, *([] if method == "POST" else [b"text", "text/plain"]))
        problem(response, 405, "method-not-allowed")
        assert response["Allow"] == allowed


def test_head_is_get_without_its_body(api: Api) -> None:
    response = api.client.head(f"{ROOT}/jobs", headers={"Authorization": f"Bearer {api.token}"})
    assert (response.status_code, response.content) == (200, b"")


def test_too_many_requests_of_one_token(settings: Settings) -> None:
    settings.CONVEYOR = {"API_REQUESTS_PER_MINUTE": 3}
    api, other = with_token("read"), with_token("read")
    for _ in range(3):
        answer(api.get("/queues"))
    response = api.get("/queues")
    problem(response, 429, "too-many-requests")
    assert 1 <= int(response["Retry-After"]) <= 20
    answer(other.get("/queues"))


@pytest.mark.parametrize(("seconds", "header"), [(0.001, "1"), (1.0, "1"), (1.2, "2"), (60.0, "60")])
def test_who_waits_as_long_as_it_says_does_not_come_too_early(seconds: float, header: str) -> None:
    assert too_many("Wait.", seconds).headers == {"Retry-After": header}


@pytest.mark.parametrize("error", [OperationalError("the server is gone"), InterfaceError("closed")])
def test_a_database_that_is_away(api: Api, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(jobs, "page_of", broken)
    client = Client(raise_request_exception=False)
    response = Api(api.token, client).get("/jobs")
    body = problem(response, 503, "database-unavailable")
    assert response["Retry-After"] == "2"
    assert str(error) not in str(body)


def test_more_parameters_than_django_reads(api: Api) -> None:
    problem(api.get("/jobs", {"state": ["ready"] * 1001}), 400, "unreadable")


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (RequestDataTooBig("much"), 413, "too-large"),
        (TooManyFieldsSent("many"), 400, "unreadable"),
        (DisallowedHost("evil"), 400, "unreadable"),
    ],
    ids=repr,
)
def test_what_django_refuses_is_the_caller_s_fault(error: Exception, status: int, code: str) -> None:
    refusal = problem_of(error)
    assert (refusal.status, refusal.code) == (status, code)


@pytest.mark.parametrize("debug", [False, True])
def test_a_defect_is_told_to_the_log_and_to_nobody_else(
    api: Api,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    settings: Settings,
    debug: bool,
) -> None:
    settings.DEBUG = debug

    def broken(*_: object) -> None:
        raise RuntimeError("something private")

    monkeypatch.setattr(jobs, "page_of", broken)
    with caplog.at_level(logging.ERROR, logger="django.request"):
        body = problem(Api(api.token, Client(raise_request_exception=False)).get("/jobs"), 500, "internal-error")
    assert "private" not in str(body)
    assert "Traceback" not in str(body)
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "something private" in str(record.exc_info)
    # Whoever else listens for errors hears of it, as the test client does.
    with pytest.raises(RuntimeError, match="private"):
        api.get("/jobs")


def test_a_refusal_in_the_midst_of_a_batch_leaves_nothing(api: Api) -> None:
    refused = api.post("/batch", {"jobs": [{"task": NOTE}, {"task": NOTE, "idempotency_key": "conveyor:x"}]})
    problem(refused, 422)
    assert not Job.objects.exists()
