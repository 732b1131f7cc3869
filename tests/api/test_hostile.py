"""What a client that means no good would send: each is refused rightly, and nothing is stored or changed."""

from __future__ import annotations

import io
import json

import pytest
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.http import HttpResponse
from django.urls import resolve
from pytest_django import Settings

from conveyor_django.models import Job, Queue

from ..support.connections import scalar
from ..support.factories import JobFactory
from .client import NOTE, ROOT, Api, answer, pointers, problem

pytestmark = pytest.mark.django_db

SQL = ["' OR '1'='1", "'; DROP TABLE conveyor_job; --", "1); DELETE FROM conveyor_job; --", "%s%s", "\\'; SELECT 1 --"]


def body_with(args: str) -> bytes:
    return f'{{"task": "{NOTE}", "args": {args}}}'.encode()


@pytest.fixture(autouse=True)
def untouched(db: None):
    """Fail the test after which a job more or less is there."""
    JobFactory(task="there.before")
    yield
    assert scalar(connection, "SELECT array_agg(task) FROM conveyor_job") == ["there.before"]
    assert not Queue.objects.exists()


@pytest.mark.parametrize("text", SQL)
def test_sql_is_text(api: Api, text: str) -> None:
    for name in ("task", "queue"):
        assert answer(api.get("/jobs", {name: text}))["jobs"] == []
    for name in ("state", "cursor", "limit", "created_after"):
        problem(api.get("/jobs", {name: text}), 422)
    problem(api.get("/jobs", {text: "1"}), 422)
    problem(api.enqueue(text), 422)
    problem(api.enqueue(NOTE, queue=text), 422)
    assert api.get(f"/jobs/{text.replace('%', '%25')}").status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"\xff\xfe{\x00}\x00", 400),
        (b"\xef\xbb\xbf{}", 400),
        (b'{"task": "\xff"}', 400),
        (body_with('"\xed\xa0\x80"').decode().encode("latin-1"), 400),
        (body_with("[NaN]"), 400),
        (body_with("[Infinity]"), 400),
        (body_with("[-Infinity]"), 400),
        (body_with("[01]"), 400),
        (body_with("['a']"), 400),
        (b"[" * 100_000 + b"]" * 100_000, 400),
        (b'{"a":' * 100_000, 400),
        (body_with("[" * 250 + "]" * 250), 422),
        (body_with('["\\u0000"]'), 422),
        (body_with('[{"\\u0000": 1}]'), 422),
        (body_with('["\\ud800"]'), 422),
        (body_with("[1e400]"), 422),
        (body_with(f"[{'9' * 4300}]"), 422),
        (body_with(f"[{'9' * 100_000}]"), 422),
        (f'{{"task": "{NOTE}", "kwargs": {{"\\ud800": 1}}}}'.encode(), 422),
        (b'{"task": "\\ud800"}', 422),
        (b'{"task": "a.b\\u0000"}', 422),
        (b'{"task": "../../etc/passwd"}', 422),
        (b"{\"task\": \"__import__('os').system('id')\"}", 422),
        (b'{"task": ["' + NOTE.encode() + b'"]}', 422),
        (f'{{"task": "{NOTE}", "priority": {"9" * 400}}}'.encode(), 422),
        (f'{{"task": "{NOTE}", "max_attempts": 1e3}}'.encode(), 422),
        (f'{{"task": "{NOTE}", "__class__": "x"}}'.encode(), 422),
        (b'{"task": "' + b"a" * 100_000 + b'"}', 422),
        (b"null", 422),
        (b"1", 422),
    ],
    ids=range(31),
)
def test_a_body_that_is_no_job(api: Api, body: bytes, status: int) -> None:
    refused = [problem(api.send("/jobs", body), status)]
    # Nor is it one of several.
    refused.append(problem(api.send("/batch", b'{"jobs": [' + body + b"]}"), status))
    assert max(len(str(each)) for each in refused) < 3000


@pytest.mark.parametrize(
    ("body", "key"),
    [
        (f'{{"task": "{NOTE}", "task": "tests.api.tasks.settle"}}'.encode(), "task"),
        (f'{{"task": "{NOTE}", "t\\u0061sk": "{NOTE}"}}'.encode(), "task"),
        (body_with('[{"a": {"deep": 1, "b": 2, "deep": 1}}]'), "deep"),
    ],
)
def test_a_key_that_is_said_twice_is_refused_by_its_name(api: Api, body: bytes, key: str) -> None:
    for path, sent in (("/jobs", body), ("/batch", b'{"jobs": [' + body + b"]}")):
        refused = problem(api.send(path, sent), 400, "broken-json")
        assert f"the key '{key}' more than once" in refused["detail"]


def test_no_body_at_all(api: Api) -> None:
    for path in ("/jobs", "/batch"):
        problem(api.send(path, b""), 422)


def test_ten_megabytes_are_refused_before_they_are_read(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    body = body_with(json.dumps(["x" * 10_000_000]))
    for path in ("/jobs", "/batch", "/jobs/default:1/cancel", "/queues/orders/pause", "/nowhere"):
        problem(api.send(path, body), 413, "too-large")
    monkeypatch.setattr("django.http.HttpRequest.read", lambda *_: pytest.fail("it was read"))
    problem(api.send("/jobs", body), 413)


def sent_without_its_length(api: Api, stream: io.BytesIO) -> HttpResponse:
    """Send a body as an ASGI server passes it on."""
    headers = [(b"content-type", b"application/json"), (b"authorization", f"Bearer {api.token}".encode())]
    scope = {"type": "http", "method": "POST", "path": f"{ROOT}/jobs", "query_string": b"", "headers": headers}
    request = ASGIRequest(scope, stream)
    match = resolve(request.path)
    request.resolver_match = match
    return match.func(request)


def test_a_body_whose_length_nobody_has_told_is_bounded_too(api: Api, settings: Settings) -> None:
    settings.CONVEYOR = {"API_MAX_BODY_BYTES": 1000}
    stream = io.BytesIO(body_with(json.dumps(["x" * 2000])))
    problem(sent_without_its_length(api, stream), 413, "too-large")
    # One more than may be, to know that there are more.
    assert stream.tell() == 1001


def test_a_body_of_just_the_limit_is_read(api: Api, settings: Settings) -> None:
    body = body_with(json.dumps(["\0"]))
    settings.CONVEYOR = {"API_MAX_BODY_BYTES": len(body)}
    for response in (api.send("/jobs", body), sent_without_its_length(api, io.BytesIO(body))):
        problem(response, 422)
    for response in (api.send("/jobs", body + b" "), sent_without_its_length(api, io.BytesIO(body + b" "))):
        problem(response, 413, "too-large")


def test_a_body_that_breaks_off(api: Api) -> None:
    class Broken(io.BytesIO):
        def read(self, *_: object) -> bytes:
            raise OSError("the client is gone")

    assert "gone" not in str(problem(sent_without_its_length(api, Broken()), 400, "unreadable"))


def test_a_body_of_another_kind_is_refused(api: Api) -> None:
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
    ):
        problem(api.send("/jobs", b"task=" + NOTE.encode(), kind=kind), 415, "not-json")
    problem(api.send("/jobs", body_with("[]"), kind="application/json; charset=utf-16"), 415, "not-json")
    for charset in ("utf-8", "UTF-8", "utf8"):
        problem(api.send("/jobs", body_with("'"), kind=f"application/json; charset={charset}"), 400, "broken-json")


def test_a_multitude_of_errors_is_counted_and_not_listed(api: Api) -> None:
    body = {"task": NOTE} | {f"k{i}": 1 for i in range(50_000)}
    assert len(problem(api.post("/jobs", body), 422)["errors"]) == 1
    batch = {"jobs": [{"task": 1}] * 1000}
    assert len(problem(api.post("/batch", batch), 422)["errors"]) == 1
    unknown = {"jobs": [{"task": "a.b"}] * 1000}
    assert len(problem(api.post("/batch", unknown), 422)["errors"]) == 100


def test_a_name_in_an_error_s_pointer_is_escaped(api: Api) -> None:
    assert pointers(problem(api.post("/jobs", {"task": NOTE, "a/b~c": 1}), 422)) == ["#/a~1b~0c"]


def test_no_markup_comes_back_as_such(api: Api) -> None:
    response = api.enqueue("<script>alert(1)</script>")
    problem(response, 422)
    assert response["Content-Type"] == "application/problem+json"
    assert response["X-Content-Type-Options"] == "nosniff"


def test_headers_cannot_be_split(api: Api) -> None:
    for key in ('"a\r\nX-Evil: 1"', "a\r\nb"):
        problem(api.enqueue(NOTE, key=key), 422)


def test_a_method_in_another_header_means_nothing(api: Api) -> None:
    response = api.get("/jobs", **{"X-HTTP-Method-Override": "POST"})
    answer(response)
    assert Job.objects.count() == 1
