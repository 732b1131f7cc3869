"""Parameters and answers of the hot statements: shared by the manager's methods and the worker's pipelined turn."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..arraytext import array_text
from ..outcomes import Answer, Claimed, Ended, Succeed, Token
from ..states import JobState
from .base import Row

# How many jobs behind one that may not run now a claim moves out of the way at most.
PARK: Final = 500
_ANSWERS: Final = {answer.value: answer for answer in Answer}


def claim_params(
    owner: uuid.UUID, queues: Mapping[str, float], limit: int, now: dt.datetime | None = None
) -> dict[str, Any]:
    """Return the parameters of claim_jobs; claim_plain_jobs takes no `park`."""
    return {
        "owner": owner, "queues": list(queues), "leases": [float(lease) for lease in queues.values()],
        "limit": limit, "park": PARK, "now": now,
    }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a claim brought.

    `parked` names as (queue, key) what was moved out of the way: jobs of full keys and of paused tasks, key None for
    those without one. `unprovided` names the caps whose permits have to be made first, the key "" for a queue's own.
    """

    jobs: list[Claimed] = field(default_factory=list)
    parked: list[tuple[str, str | None]] = field(default_factory=list)
    unprovided: list[tuple[str, str, int]] = field(default_factory=list)
    # A plain claim left jobs in line of which only a whole one knows whether they may run.
    capped: bool = False


def claim_from(rows: Iterable[Row]) -> Claim:
    """Return what the rows of claim_jobs or claim_plain_jobs say."""
    by_kind: dict[str, list[Row]] = {"claimed": [], "parked": [], "unprovided": [], "capped": []}
    for row in rows:
        by_kind[row[0]].append(row)
    return Claim(
        jobs=[_claimed(row) for row in by_kind["claimed"]],
        parked=[(row[3], row[13]) for row in by_kind["parked"]],
        unprovided=[(row[3], row[13], row[18]) for row in by_kind["unprovided"]],
        capped=bool(by_kind["capped"]),
    )


def _claimed(row: Row) -> Claimed:
    return Claimed._make(row[1 : 1 + len(Claimed._fields)])


def succeed_params(outcomes: Sequence[Succeed], owner: uuid.UUID, now: dt.datetime | None = None) -> dict[str, Any]:
    """Return the parameters of succeed_jobs."""
    results = [outcome.result for outcome in outcomes]
    return {
        "ids": _integers(outcome.id for outcome in outcomes),
        "versions": _integers(outcome.version for outcome in outcomes),
        "results": results if any(results) else array_text("NULL" for _ in results),
        "owner": owner,
        "now": now,
    }


def _integers(numbers: Iterable[int]) -> str:
    return array_text(map(str, numbers))


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
    return {(row[0], row[1]): _ANSWERS[row[2]] for row in rows}


def ready_queues(rows: Iterable[Row]) -> set[str]:
    """Return the queues in which end_attempts' rows made a job ready."""
    return {row[4] for row in rows if row[3] == JobState.READY}


def token_params(tokens: Iterable[Token]) -> dict[str, list[int]]:
    """Return the parameters that name runs by their tokens."""
    listed = list(tokens)
    return {"ids": [token[0] for token in listed], "versions": [token[1] for token in listed]}
