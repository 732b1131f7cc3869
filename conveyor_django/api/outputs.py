"""What comes out of the API; the OpenAPI document is made of these."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

from django.http import HttpResponse
from pydantic import BaseModel, ConfigDict, Field

from ..states import JobState, Verb
from .inputs import EXAMPLE

_JOB: Final[dict[str, Any]] = {
    "id": "default:42", "task": EXAMPLE, "queue": "orders", "state": "scheduled", "priority": 0, "attempt": 1,
    "max_attempts": 5, "lost_count": 0, "idempotency_key": "order-A-17", "workflow": None,
    "created_at": "2030-01-31T08:00:00Z", "run_at": "2030-01-31T08:00:07Z", "started_at": "2030-01-31T08:00:01Z",
    "finished_at": None, "cancel_requested_at": None,
}  # fmt: skip
_INSPECTION: Final[dict[str, Any]] = {
    "args": ["A-17", "ada", 1250], "kwargs": {}, "result": None,
    "failures": [
        {
            "run": 1, "ended_by": "retry", "error": "shop.bank.BankBusy", "message": "try later",
            "started_at": "2030-01-31T08:00:01Z", "finished_at": "2030-01-31T08:00:02Z",
        }
    ],
}  # fmt: skip


class Enqueued(BaseModel):
    """The job that answers for an enqueue."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "default:42", "task": EXAMPLE, "queue": "orders", "created": True}]}
    )

    id: str
    task: str
    queue: str
    created: bool = Field(description="False where the job that has the key was there already.")


class EnqueuedBatch(BaseModel):
    """The jobs that answer for a bulk enqueue, in the order given."""

    jobs: list[Enqueued]


class Job(BaseModel):
    """A job, without what it is about."""

    model_config = ConfigDict(json_schema_extra={"examples": [_JOB]})

    id: str
    task: str
    queue: str
    state: JobState
    priority: int
    attempt: int = Field(description="Runs that have failed or are under way.")
    max_attempts: int
    lost_count: int = Field(description="Runs whose worker died or froze.")
    idempotency_key: str | None
    workflow: int | None
    created_at: dt.datetime
    run_at: dt.datetime
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    cancel_requested_at: dt.datetime | None


class Page(BaseModel):
    """Jobs, the newest first; with several databases, those of one after those of another."""

    jobs: list[Job]
    next: str | None = Field(description="The `cursor` of the page behind this one; null at the end.")


class Failure(BaseModel):
    """How one run ended that did not succeed."""

    run: int
    ended_by: Verb
    error: str
    message: str
    started_at: dt.datetime
    finished_at: dt.datetime


class Inspection(BaseModel):
    """What a job is about, for who has the verb `inspect`."""

    args: list[Any]
    kwargs: dict[str, Any]
    result: Any = Field(description="What its handler returned; null unless it has succeeded.")
    failures: list[Failure] = Field(description="The newest first.")


class JobDetail(Job):
    """One job."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                _JOB | {"traceparent": None, "inspection": None},
                _JOB | {"traceparent": None, "inspection": _INSPECTION},
            ]
        }
    )

    traceparent: str | None
    inspection: Inspection | None = Field(description="Null for who has not the verb `inspect`.")


class Reason(BaseModel):
    """One reason why a job is where it is."""

    code: str = Field(description="Which one it is, for programs.")
    text: str
    remedy: str = Field(description="What to do; empty where nothing is.")


class Explanation(BaseModel):
    """Why a job is where it is."""

    id: str
    state: JobState
    headline: str
    now: dt.datetime = Field(description="The database's time.")
    reasons: list[Reason] = Field(description="The most important first.")


class CancelledJob(BaseModel):
    """What cancelling a job has come to."""

    id: str
    state: JobState = Field(description="`running`: its worker has been asked to stop it.")


class RetriedJob(BaseModel):
    """A job that was made ready again."""

    id: str
    state: JobState = Field(description="`ready`, as it was made; a worker may have it by now.")


class Queue(BaseModel):
    """A queue and its settings."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"name": "orders", "paused": False, "soft_cap": None, "exact_cap": 4, "key_cap": None}]
        }
    )

    name: str
    paused: bool
    soft_cap: int | None
    exact_cap: int | None
    key_cap: int | None


class Queues(BaseModel):
    """The queues that the caller may see."""

    queues: list[Queue]


class Health(BaseModel):
    """That all is well."""

    status: str


class PartInError(BaseModel):
    """One part of a request that is wrong."""

    detail: str
    pointer: str | None = Field(None, description="Where in the body, as the fragment of a URI (RFC 6901).")
    parameter: str | None = None
    header: str | None = None


class ProblemDetails(BaseModel):
    """Why a request was refused (RFC 9457)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank", "title": "Not Found", "status": 404, "code": "not-found",
                    "detail": "There is no such job.",
                }
            ]
        }
    )  # fmt: skip

    type: str
    title: str
    status: int
    code: str = Field(description="Which refusal it is, for programs.")
    detail: str
    errors: list[PartInError] | None = None


def reply(model: BaseModel, status: int = 200, **headers: str) -> HttpResponse:
    """Return a model as the answer."""
    return HttpResponse(
        model.model_dump_json(), status=status, content_type="application/json",
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )  # fmt: skip
