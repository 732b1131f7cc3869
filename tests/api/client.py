"""A client of the API, and what its answers have to be like."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse
from django.test import Client

from conveyor_django.operate.apiverbs import ApiVerb
from conveyor_django.operate.tokens import create_token

ROOT = "/conveyor"
NOTE, SETTLE, SECRET = (f"tests.api.tasks.{name}" for name in ("note", "settle", "secret"))
EVERYTHING = list(ApiVerb)


@dataclass
class Api:
    """Sends requests with one token, or with none."""

    token: str | None = None
    client: Client = field(default_factory=Client)

    def get(self, path: str, query: Any = None, **headers: str) -> HttpResponse:
        return self.client.get(ROOT + path, query, headers=self._headers(headers))

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        """Send a value as JSON; None: no body."""
        return self.send(path, b"" if body is None else json.dumps(body).encode(), **headers)

    def send(self, path: str, body: bytes, *, kind: str = "application/json", **headers: str) -> HttpResponse:
        """Send bytes, with the header of their kind also where there are none."""
        return self.client.generic("POST", ROOT + path, body, kind, headers=self._headers(headers), CONTENT_TYPE=kind)

    def enqueue(self, task: str = NOTE, *args: Any, key: str | None = None, **job: Any) -> HttpResponse:
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.post("/jobs", {"task": task, "args": list(args), **job}, **headers)

    def _headers(self, given: dict[str, str]) -> dict[str, str]:
        return given if self.token is None else {"Authorization": f"Bearer {self.token}"} | given


def with_token(*verbs: str, queues: list[str] | None = None) -> Api:
    """Return a client whose token has these verbs, or all; in these queues, or all."""
    return Api(create_token("test", queues=queues, verbs=verbs or EVERYTHING)[1])


def problem(response: HttpResponse, status: int, code: str | None = None) -> dict[str, Any]:
    """Return the problem that the answer is. Fails for any other."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    assert response["Cache-Control"] == "no-store"
    body: dict[str, Any] = json.loads(response.content)
    assert body["type"] == "about:blank"
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    assert code in (None, body["code"]), body
    return body


def answer(response: HttpResponse, status: int = 200) -> dict[str, Any]:
    """Return what the answer says. Fails for a refusal."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/json"
    assert response["Cache-Control"] == "no-store"
    body: dict[str, Any] = json.loads(response.content)
    return body


def pointers(body: dict[str, Any]) -> list[str]:
    """Return where the errors of a problem are."""
    return [next(value for key, value in error.items() if key != "detail") for error in body["errors"]]
