"""What becomes of an enqueue whose key another job holds (P3); decided without a database."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, NamedTuple

from .errors import IdempotencyConflict, describe, name_place
from .managers.jobs import Holder, NewJob
from .states import JobState, OnConflict

# Characters of a call in an error message.
MAX_SHOWN: Final = 120
Key = tuple[str, str]
# Their rows must be left alone: a worker holds the one, other jobs count on the other.
_IRREPLACEABLE: Final = frozenset({JobState.RUNNING, JobState.BLOCKED})


class Entry(NamedTuple):
    """A validated job to store; `place` is where it stands in its caller's list, for errors about it."""

    job: NewJob
    on_conflict: OnConflict | None = None
    place: str = ""

    @property
    def has_key(self) -> bool:
        """Whether it names its work by a key."""
        return self.job.idempotency_key is not None

    @property
    def key(self) -> Key:
        """What names its work: the queue and the idempotency key, which is "" where it has none."""
        return (self.job.queue, self.job.idempotency_key or "")


@dataclass(frozen=True, slots=True)
class Existing:
    """The job that has the key, in answer to an enqueue that stored none."""

    id: int


def settle(entry: Entry, holder: Holder) -> Existing:
    """Return the holder of the entry's key in answer to it. Raises IdempotencyConflict where it may not be that."""
    mode = entry.on_conflict
    # Who would replace it is answered with the one that did.
    if mode in {OnConflict.KEEP, OnConflict.REPLACE}:
        return Existing(holder.id)
    if _is_same_work(entry.job, holder):
        if mode is None:
            return Existing(holder.id)
        raise _conflict(entry, holder, what="", fix="It is the same work: leave on_conflict out to get that job back.")
    raise _conflict(entry, holder, what="")


def check_replaceable(entry: Entry, holder: Holder) -> None:
    """Raise IdempotencyConflict where the holder of the entry's key runs, or a workflow counts on it."""
    if holder.workflow_id is not None:
        raise _conflict(
            entry, holder, what=" of a workflow",
            fix="A workflow's job cannot be replaced: others may wait for it. Cancel the workflow, or use another key.",
        )  # fmt: skip
    if holder.state in _IRREPLACEABLE:
        raise _conflict(
            entry, holder, what=f" ({holder.state})",
            fix="A job that runs cannot be replaced: enqueue again when it has ended, or use another key.",
        )  # fmt: skip


def _is_same_work(job: NewJob, holder: Holder) -> bool:
    return (holder.task, _comparable(holder.args), _comparable(holder.kwargs)) == (
        job.task, _comparable(job.args), _comparable(job.kwargs),
    )  # fmt: skip


def _comparable(text: str) -> Any:
    """Parse JSON so that equal numbers are equal however jsonb writes them, and none equals true or false."""

    def number(digits: str) -> tuple[Decimal]:
        return (Decimal(digits),)

    return json.loads(text, parse_int=number, parse_float=number)


def _conflict(entry: Entry, holder: Holder, *, what: str, **fix: str) -> IdempotencyConflict:
    job = entry.job
    error = IdempotencyConflict(
        job.idempotency_key or "",
        job.queue,
        existing=f"job {holder.id}{what}, {_call(holder.task, holder.args, holder.kwargs)}",
        refused=_call(job.task, job.args, job.kwargs),
        **fix,
    )
    name_place(error, entry.place)
    return error


def _call(task: str, args: str, kwargs: str) -> str:
    """Return a stored call as a person would write it, shortened."""
    values = [_short(value) for value in json.loads(args)]
    named = [f"{name}={_short(value)}" for name, value in json.loads(kwargs).items()]
    shown = ", ".join([*values, *named])
    return f"{task}({shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + '…'})"


def _short(value: Any) -> str:
    return describe(value, limit=40)
