"""What passes between a claim and its outcome: frozen values, no behaviour.

An executor returns an outcome; only the finisher writes it. Each outcome names the job and the lease
version that it was claimed under, which together are the fencing token of every later write.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, NamedTuple

from .states import Verb

# The fencing token: (job id, lease version).
Token = tuple[int, int]


class Claimed(NamedTuple):
    """One claimed job, as a worker process holds it; in the order of a claim's columns.

    `args` and `kwargs` are JSON text: they are parsed by the executor, off the claim path.
    `attempt` is the retry budget used, this run included; `lost_count` the runs that ended unseen;
    `release_count` how often it was given back without an outcome. `created_at` is aware.
    """

    id: int
    version: int
    queue: str
    task: str
    args: str
    kwargs: str
    attempt: int
    max_attempts: int
    lost_count: int
    release_count: int
    lease_seconds: float
    created_at: dt.datetime
    concurrency_key: str | None = None
    workflow_id: int | None = None
    # From when it was due, by the database's clock; of a later run, or one that waited for other jobs, it says little.
    waited_seconds: float = 0.0
    # The trace context that its enqueue has stored, as W3C has it.
    traceparent: str | None = None
    tracestate: str | None = None

    @property
    def run(self) -> int:
        """The number of this run, counted from 1: attempts charged and runs lost."""
        return self.attempt + self.lost_count

    @property
    def token(self) -> Token:
        """The fencing token: (job id, lease version)."""
        return (self.id, self.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorInfo:
    """An exception as it is stored: three scrubbed, bounded texts."""

    error_class: str
    message: str
    traceback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one run of one job ended."""

    verb: ClassVar[Verb]

    id: int
    version: int

    @property
    def token(self) -> Token:
        """The fencing token: (job id, lease version)."""
        return (self.id, self.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeed(Outcome):
    """The handler returned; `result` is JSON text, or None for null."""

    verb = Verb.SUCCEED

    result: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed(Succeed):
    """The handler was atomic: its transaction already wrote the ledger row and the transition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended(Outcome):
    """The run ended without success; an Attempt row keeps `error`. `delay` is in seconds."""

    error: ErrorInfo
    delay: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry(Ended):
    """Run again after `delay` seconds; the attempt stays charged."""

    verb = Verb.RETRY


@dataclass(frozen=True, slots=True, kw_only=True)
class Snooze(Ended):
    """Run again after `delay` seconds; the attempt is refunded."""

    verb = Verb.SNOOZE


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail(Ended):
    """End as `failed`."""

    verb = Verb.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel(Ended):
    """End as `cancelled`."""

    verb = Verb.CANCEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Ended):
    """Give the job back: the attempt is refunded, the release is counted and bounded."""

    verb = Verb.RELEASE


class Answer(StrEnum):
    """What the database said to one fenced write (design, rule 2)."""

    # The write was mine.
    WON = "won"
    # It had been mine already: an earlier reply was lost after its commit.
    WON_BEFORE = "won before"
    # The row is locked by somebody else for a moment: ask again.
    BUSY = "busy"
    # The lease is somebody else's by now: drop the outcome, count it.
    LOST = "lost"
