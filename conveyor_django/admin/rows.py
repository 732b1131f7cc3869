"""What a job's page reads beside the job: bounded in rows and in characters, a fixed number of queries."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.db import connections
from django.db.models import Case, F, Func, IntegerField, Q, TextField, Value, When
from django.db.models.functions import Cast, Left, Length

from ..conf import conveyor_settings
from ..models import Attempt, Ledger, Payload, Worker
from .jsonview import READ

if TYPE_CHECKING:
    from django.db.models import Expression, Model

    from ..models import Job

# Runs without success and ledger rows that a page shows, the newest; each has up to 50,000 characters of traceback.
RUNS: Final = 40
EFFECTS: Final = 200
# Characters of a step's result that are shown, and the stored bytes up to which it is read at all.
STEP_READ: Final = 2_000
STEP_BYTES: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The beginning of a JSON value's text, and the length of the whole; no text: too large to be read."""

    text: str | None
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a job was enqueued with."""

    args: Stored
    kwargs: Stored
    traceparent: str | None
    tracestate: str | None
    name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """One run that did not succeed."""

    lease_version: int
    number: int
    verb: str
    owner: uuid.UUID
    error_class: str
    message: str
    traceback: str
    started_at: dt.datetime
    finished_at: dt.datetime

    @property
    def error(self) -> str:
        """The error in a line; empty where there is none."""
        return ": ".join(part for part in (self.error_class, self.message) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One ledger row; of the one whose step is empty the result is the job's. No result: it is null."""

    step: str
    lease_version: int
    owner: uuid.UUID
    committed_at: dt.datetime
    result: Stored | None


def read_now(job: Job) -> dt.datetime:
    """Return the time of the job's database, which is the one clock of leases and schedules (P5)."""
    with connections[alias_of(job)].cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: dt.datetime = cursor.fetchone()[0]
    return now


def read_given(job: Job) -> Given | None:
    """Return what the job was enqueued with; None where the row is gone."""
    row = (
        _on(job, Payload)
        .filter(pk=job.pk)
        .annotate(
            args_text=_beginning("args", READ), args_length=_length("args"),
            kwargs_text=_beginning("kwargs", READ), kwargs_length=_length("kwargs"),
        )
        .values("args_text", "args_length", "kwargs_text", "kwargs_length", "traceparent", "tracestate", "name")
        .first()
    )  # fmt: skip
    if row is None:
        return None
    return Given(
        args=Stored(text=row["args_text"], length=row["args_length"]),
        kwargs=Stored(text=row["kwargs_text"], length=row["kwargs_length"]),
        traceparent=row["traceparent"],
        tracestate=row["tracestate"],
        name=row["name"],
    )


def read_endings(job: Job) -> list[Ending]:
    """Return the newest RUNS runs without success and one more, if there is one, the newest first."""
    columns = (
        "lease_version", "number", "verb", "owner", "error_class", "message", "traceback", "started_at", "finished_at",
    )  # fmt: skip
    rows = _on(job, Attempt).filter(job_id=job.pk).order_by("-lease_version").values(*columns)
    return [Ending(**row) for row in rows[: RUNS + 1]]


def read_effects(job: Job) -> list[Effect]:
    """Return the newest EFFECTS ledger rows and one more, if there is one, the oldest first."""
    is_read = Q(step="") | Q(stored__lte=STEP_BYTES)
    rows = (
        _on(job, Ledger)
        .filter(job_id=job.pk)
        .annotate(stored=Func(F("result"), function="pg_column_size", output_field=IntegerField()))
        .annotate(
            text=Case(
                When(step="", then=_beginning("result", READ)),
                When(is_read, then=_beginning("result", STEP_READ)),
                default=None,
                output_field=TextField(),
            ),
            # Of what is not read, what it takes in the database: its length could be known by reading it alone.
            length=Case(When(is_read, then=_length("result")), default=F("stored"), output_field=IntegerField()),
        )
        .order_by("-committed_at", "step")
        .values("step", "lease_version", "owner", "committed_at", "text", "length")
    )
    found = [_effect(row) for row in rows[: EFFECTS + 1]]
    return found[::-1]


def read_workers(job: Job, owners: Iterable[uuid.UUID]) -> dict[uuid.UUID, str]:
    """Return the names of those of these owners that are alive: their host and process id."""
    rows = _on(job, Worker).filter(pk__in=set(owners)).values_list("incarnation", "host", "pid")
    return {incarnation: f"{host}, pid {pid}" for incarnation, host, pid in rows}


def alias_of(row: Model) -> str:
    """Return the alias of the database that a row was read from."""
    return row._state.db or conveyor_settings().database  # noqa: SLF001 - documented, despite its name


def _on(job: Job, model: Any) -> Any:
    return model.objects.using(alias_of(job))


def _effect(row: dict[str, Any]) -> Effect:
    text, length = row.pop("text"), row.pop("length")
    return Effect(**row, result=None if length is None else Stored(text=text, length=length))


def _beginning(column: str, characters: int) -> Expression:
    return Left(Cast(column, TextField()), Value(characters))


def _length(column: str) -> Expression:
    return Length(Cast(column, TextField()))
