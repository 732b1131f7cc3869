"""What goes into the API, checked strictly, and what comes out of it; the OpenAPI document is made of these."""

from __future__ import annotations

import datetime as dt
import re
from typing import Annotated, Any, Final

from django.http import HttpResponse
from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from ..conf import MAX_INTEGER, MAX_KEY_LENGTH, MAX_QUEUE_LENGTH, conveyor_settings
from ..jsonrule import is_storable
from ..options import MAX_PRIORITY, MIN_PRIORITY
from ..states import JobState, Verb
from .problems import Problem

# Jobs of one page of a list, at most.
MAX_PAGE: Final = 200
_INSTANT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_KEY: Final = r"^[\x20-\x7e]+$"


def _written(value: Any) -> Any:
    """Refuse what is an instant by another notation than RFC 3339's."""
    if not isinstance(value, str) or not _INSTANT.fullmatch(value):
        raise ValueError("it has to be an instant with its offset, such as 2030-01-31T08:00:00Z")
    return value


def _representable(value: dt.datetime) -> dt.datetime:
    """Refuse what some reader of the database could not hold: Python's years end at 1 and 9999."""
    if not dt.MINYEAR < value.year < dt.MAXYEAR:
        raise ValueError(f"it has to be of the years {dt.MINYEAR + 1} to {dt.MAXYEAR - 1}")
    return value


def _storable(value: str) -> str:
    if not is_storable(value):
        raise ValueError("it has a character that PostgreSQL cannot store")
    return value


def _bounded(jobs: Any) -> Any:
    """Refuse a batch that is too large, before each of its jobs is looked at."""
    limit = conveyor_settings().api_max_batch
    if isinstance(jobs, list) and len(jobs) > limit:
        raise Problem(
            413, "too-large", f"The batch has {len(jobs):,} jobs; {limit:,} are allowed. Send several batches."
        )
    return jobs


Instant = Annotated[AwareDatetime, BeforeValidator(_written), AfterValidator(_representable), Field(strict=False)]
QueueName = Annotated[str, Field(min_length=1, max_length=MAX_QUEUE_LENGTH), AfterValidator(_storable)]
TaskPath = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_storable)]

_CALL: Final[dict[str, Any]] = {"task": "shop.tasks.settle_order", "args": ["A-17", "ada", 1250]}


class NewJob(BaseModel):
    """A job to enqueue. What is left out is as the task declares it."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={"examples": [_CALL, _CALL | {"priority": 10, "run_after": "2030-01-31T08:00:00Z"}]},
    )

    task: TaskPath = Field(description="The dotted path of a task that was declared with http=True.")
    args: list[Any] = Field(default_factory=list, description="Its positional arguments.")
    kwargs: dict[str, Any] = Field(default_factory=dict, description="Its named arguments.")
    queue: QueueName | None = None
    priority: int | None = Field(None, ge=MIN_PRIORITY, le=MAX_PRIORITY)
    run_after: Instant | None = Field(None, description="Do not run it earlier.")
    max_attempts: int | None = Field(None, ge=1, le=MAX_INTEGER)


class BatchJob(NewJob):
    """One of several jobs to enqueue."""

    model_config = ConfigDict(json_schema_extra={"examples": [_CALL | {"idempotency_key": "order-A-17"}]})

    idempotency_key: str | None = Field(None, min_length=1, max_length=MAX_KEY_LENGTH, pattern=_KEY)


class Batch(BaseModel):
    """Jobs to enqueue: all of them, or none."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={"examples": [{"jobs": [_CALL | {"idempotency_key": "order-A-17"}]}]},
    )

    jobs: Annotated[list[BatchJob], BeforeValidator(_bounded)] = Field(min_length=1)


class JobFilter(BaseModel):
    """Which jobs a list has; `queue` and `state` may be given several times."""

    model_config = ConfigDict(extra="forbid")

    queue: list[QueueName] = []
    state: list[JobState] = []
    task: TaskPath | None = None
    created_after: Instant | None = None
    created_before: Instant | None = None
    limit: int = Field(50, ge=1, le=MAX_PAGE)
    cursor: str | None = Field(None, max_length=200, description="The `next` of the page before this one.")


class Enqueued(BaseModel):
    """The job that answers for an enqueue."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"id": "default:42", "task": _CALL["task"], "queue": "orders", "created": True}]
        }
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

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "default:42", "task": _CALL["task"], "queue": "orders", "state": "scheduled", "priority": 0,
                    "attempt": 1, "max_attempts": 5, "lost_count": 0, "idempotency_key": "order-A-17",
                    "workflow": None, "created_at": "2030-01-31T08:00:00Z", "run_at": "2030-01-31T08:00:07Z",
                    "started_at": "2030-01-31T08:00:01Z", "finished_at": None, "cancel_requested_at": None,
                }
            ]
        }
    )  # fmt: skip

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

    traceparent: str | None
    inspection: Inspection | None = Field(description="Null for who has not the verb `inspect`.")


class CancelledJob(BaseModel):
    """What cancelling a job has come to."""

    id: str
    state: JobState = Field(description="`running`: its worker has been asked to stop it.")


class RetriedJob(BaseModel):
    """A job that was made ready again."""

    id: str


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
