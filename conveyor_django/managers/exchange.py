"""Parameters and answers of the hot statements: shared by the manager's methods and the worker's pipelined turn."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..outcomes import Answer, Claimed, Ended, Succeed, Token
from ..states import JobState
from .base import Row


def claim_params(
    owner: uuid.UUID, queues: Mapping[str, float], limit: int, now: dt.datetime | None = None
) -> dict[str, Any]:
    """Return the parameters of claim_jobs."""
    return {
        "owner": owner, "queues": list(queues), "leases": [float(lease) for lease in queues.values()],
        "limit": limit, "now": now,
    }  # fmt: skip


def claimed_from(rows: Iterable[Row]) -> list[Claimed]:
    """Return the claimed jobs of claim_jobs' rows."""
    return [
        Claimed(
            id=row[0], version=row[1], queue=row[2], task=row[3], args=row[4], kwargs=row[5], attempt=row[6],
            max_attempts=row[7], lost_count=row[8], release_count=row[9], lease_seconds=row[10],
            created_at=row[11],
        )
        for row in rows
    ]  # fmt: skip


def succeed_params(outcomes: Sequence[Succeed], owner: uuid.UUID, now: dt.datetime | None = None) -> dict[str, Any]:
    """Return the parameters of succeed_jobs."""
    return {
        "ids": [outcome.id for outcome in outcomes],
        "versions": [outcome.version for outcome in outcomes],
        "results": [outcome.result for outcome in outcomes],
        "owner": owner,
        "now": now,
    }


def end_params(
    outcomes: Sequence[Ended], owner: uuid.UUID, keep: int, max_releases: int, now: dt.datetime | None = None
) -> dict[str, Any]:
    """Return the parameters of end_attempts."""
    return {
        "ids": [outcome.id for outcome in outcomes],
        "versions": [outcome.version for outcome in outcomes],
        "verbs": [outcome.verb.value for outcome in outcomes],
        "delays": [float(outcome.delay) for outcome in outcomes],
        "error_classes": [outcome.error.error_class for outcome in outcomes],
        "messages": [outcome.error.message for outcome in outcomes],
        "tracebacks": [outcome.error.traceback for outcome in outcomes],
        "owner": owner,
        "keep": keep,
        "max_releases": max_releases,
        "now": now,
    }


def answers_from(rows: Iterable[Row]) -> dict[Token, Answer]:
    """Return {token: answer} of an outcome statement's rows."""
    return {(row[0], row[1]): Answer(row[2]) for row in rows}


def ready_queues(rows: Iterable[Row]) -> set[str]:
    """Return the queues in which end_attempts' rows made a job ready."""
    return {row[4] for row in rows if row[3] == JobState.READY}
