"""What goes into the API, checked strictly; the OpenAPI document is made of these."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from ..conf import MAX_INTEGER, MAX_KEY_LENGTH, MAX_QUEUE_LENGTH, conveyor_settings
from ..instants import in_utc
from ..jsonrule import is_storable
from ..options import MAX_PRIORITY, MIN_PRIORITY
from ..states import JobState
from .problems import Problem

# Jobs of one page of a list, at most.
MAX_PAGE: Final = 200
_INSTANT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_DIGITS: Final = re.compile(r"[0-9]+")
_KEY: Final = r"^[\x20-\x7e]+$"


def _written(value: Any) -> Any:
    """Refuse what is an instant by another notation than RFC 3339's."""
    if not isinstance(value, str) or not _INSTANT.fullmatch(value):
        raise ValueError("it has to be an instant with its offset, such as 2030-01-31T08:00:00Z")
    return value


def _digits(value: Any) -> Any:
    """Refuse what Python reads as a number and other readers do not, or not all: 1_0, +3, 3.0, spaces, other digits."""
    if not isinstance(value, str) or not _DIGITS.fullmatch(value):
        raise ValueError("it has to be a whole number in the digits 0 to 9")
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


Instant = Annotated[AwareDatetime, BeforeValidator(_written), AfterValidator(in_utc), Field(strict=False)]
QueueName = Annotated[str, Field(min_length=1, max_length=MAX_QUEUE_LENGTH), AfterValidator(_storable)]
TaskPath = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_storable)]

# The task of the examples.
EXAMPLE: Final = "shop.tasks.settle_order"
_CALL: Final[dict[str, Any]] = {"task": EXAMPLE, "args": ["A-17", "ada", 1250]}


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
    limit: Annotated[int, BeforeValidator(_digits)] = Field(50, ge=1, le=MAX_PAGE)
    cursor: str | None = Field(None, max_length=200, description="The `next` of the page before this one.")
