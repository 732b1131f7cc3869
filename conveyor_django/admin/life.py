"""The life of a job, read from its rows: when it waited and why, its runs, and what has committed."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..states import TERMINAL, JobState, Verb

if TYPE_CHECKING:
    from ..models import Job
    from .rows import Effect, Ending


@dataclass(frozen=True, slots=True)
class Commit:
    """A ledger row's mark: a durable step, or, with an empty name, the effect of the success."""

    step: str
    at: dt.datetime

    @property
    def is_effect(self) -> bool:
        """Whether this is the row that says that the job has succeeded."""
        return not self.step


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: what a claim began."""

    lease_version: int
    owner: uuid.UUID | None
    number: int
    started_at: dt.datetime
    ended_at: dt.datetime
    # How it ended, by the verb; "running" while it has not.
    outcome: str
    error: str = ""
    # What it has committed so far, in order.
    commits: tuple[Commit, ...] = ()

    @property
    def seconds(self) -> float:
        """How long it took, or has taken so far."""
        return max((self.ended_at - self.started_at).total_seconds(), 0.0)


@dataclass(frozen=True, slots=True)
class Wait:
    """A time in which the job did not run; `why` is the state it is in now, or "waits"."""

    why: str
    start: dt.datetime
    end: dt.datetime

    @property
    def seconds(self) -> float:
        """How long it took, or has taken so far."""
        return max((self.end - self.start).total_seconds(), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """The whole of it, up to its end or to `end`, the database's time of the look."""

    state: JobState
    created_at: dt.datetime
    run_at: dt.datetime
    cancel_requested_at: dt.datetime | None
    end: dt.datetime
    has_ended: bool
    runs: tuple[Run, ...]
    waits: tuple[Wait, ...]

    @property
    def horizon(self) -> dt.datetime:
        """The last instant there is to draw: a job that waits for its time ends there."""
        return self.end if self.has_ended else max(self.end, self.run_at)

    def since(self, instant: dt.datetime) -> float:
        """Return the seconds from the enqueue to an instant."""
        return (instant - self.created_at).total_seconds()


def life_of(job: Job, endings: Iterable[Ending], effects: Sequence[Effect], *, now: dt.datetime) -> Life:
    """Put a job's rows in the order of time."""
    state = JobState(job.state)
    end = job.finished_at or now
    runs = tuple(_with_commits(_runs(job, endings, effects, now), effects))
    return Life(
        state=state,
        created_at=job.created_at,
        run_at=job.run_at,
        cancel_requested_at=job.cancel_requested_at,
        end=end,
        has_ended=state in TERMINAL,
        runs=runs,
        waits=tuple(_waits(job, runs, end)),
    )


def _runs(job: Job, endings: Iterable[Ending], effects: Sequence[Effect], now: dt.datetime) -> list[Run]:
    runs = [
        Run(
            lease_version=ending.lease_version,
            owner=ending.owner,
            number=ending.number,
            started_at=ending.started_at,
            ended_at=ending.finished_at,
            outcome=ending.verb,
            error=ending.error,
        )
        for ending in endings
    ]
    if newest := _newest(job, effects, now):
        runs.append(newest)
    return sorted(runs, key=lambda run: run.lease_version)


def _newest(job: Job, effects: Sequence[Effect], now: dt.datetime) -> Run | None:
    """Return the run of which the job's own row tells: the one that goes on, or the one that succeeded."""
    if job.claimed_at is None:
        return None
    if job.state == JobState.RUNNING:
        owner, end, outcome = job.lease_owner, now, JobState.RUNNING.value
    elif success := next((effect for effect in effects if not effect.step), None):
        owner, end, outcome = success.owner, success.committed_at, Verb.SUCCEED.value
    else:
        return None
    return Run(
        lease_version=job.lease_version,
        owner=owner,
        number=job.attempt + job.lost_count,
        started_at=job.claimed_at,
        ended_at=end,
        outcome=outcome,
    )


def _with_commits(runs: Sequence[Run], effects: Sequence[Effect]) -> list[Run]:
    marks: dict[int, list[Commit]] = {}
    for effect in effects:
        marks.setdefault(effect.lease_version, []).append(Commit(effect.step, effect.committed_at))
    return [replace(run, commits=tuple(marks.get(run.lease_version, ()))) for run in runs]


def _waits(job: Job, runs: Sequence[Run], end: dt.datetime) -> Iterable[Wait]:
    start = job.created_at
    for run in runs:
        if run.started_at > start:
            yield Wait("waits", start, run.started_at)
        start = max(start, run.ended_at)
    if end > start and job.state != JobState.RUNNING:
        yield Wait("waits" if job.state in TERMINAL else job.state, start, end)
