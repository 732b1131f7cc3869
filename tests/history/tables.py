"""The final tables of a run, as plain rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Final, Protocol, Self, TypeVar
from uuid import UUID

TERMINAL: Final = frozenset({"succeeded", "failed", "cancelled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A row of conveyor_job."""

    id: int
    queue: str
    state: str
    lease_version: int
    idempotency_key: str | None = None
    concurrency_key: str | None = None
    cancel_requested_at: dt.datetime | None = None
    workflow_role: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """A row of conveyor_ledger; step "" is the success."""

    job_id: int
    step: str
    lease_version: int
    owner: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """A row of conveyor_attempt."""

    job_id: int
    lease_version: int
    verb: str
    owner: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeRow:
    """A row of conveyor_dependency: job `job_id` needs job `needs_id`."""

    job_id: int
    needs_id: int
    on_failure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CronRow:
    """A row of conveyor_cron."""

    name: str
    missed: str
    overlap: str
    last_tick: dt.datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectRow:
    """A row of test_effect, what a handler wrote into the database under test.

    `step` says with what the row commits: "" with the success of the run (an atomic handler, or `effect()`), a name
    with that atomic step; None with nothing, so that it may be there once for each run.
    """

    name: str
    job: int
    token: int
    step: str | None


class Connection(Protocol):
    """What is needed of a connection: psycopg's and Django's have it."""

    def cursor(self) -> Any:
        """Return a cursor that is a context manager."""


RowType = TypeVar("RowType")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """All that the judge looks at, read in one snapshot or not at all: nothing may write any more."""

    jobs: list[JobRow]
    ledger: list[LedgerRow]
    attempts: list[AttemptRow]
    edges: list[EdgeRow]
    crons: list[CronRow]
    effects: list[EffectRow]

    @classmethod
    def read(cls, connection: Connection) -> Self:
        """Read the tables. Database errors pass through; where there is no table test_effect, there are no effects."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT to_regclass('test_effect') IS NOT NULL")
            has_effects = cursor.fetchone()[0]
            return cls(
                jobs=_rows(cursor, JobRow, "conveyor_job", "id"),
                ledger=_rows(cursor, LedgerRow, "conveyor_ledger", "job_id, step"),
                attempts=_rows(cursor, AttemptRow, "conveyor_attempt", "job_id, lease_version"),
                edges=_rows(cursor, EdgeRow, "conveyor_dependency", "job_id, needs_id"),
                crons=_rows(cursor, CronRow, "conveyor_cron", "name"),
                effects=_rows(cursor, EffectRow, "test_effect", "job, token, step") if has_effects else [],
            )


def _rows(cursor: Any, kind: type[RowType], table: str, order: str) -> list[RowType]:
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    cursor.execute(f"SELECT {', '.join(names)} FROM {table} ORDER BY {order}")
    found: Iterable[tuple[Any, ...]] = cursor.fetchall()
    return [kind(**dict(zip(names, row, strict=True))) for row in found]
