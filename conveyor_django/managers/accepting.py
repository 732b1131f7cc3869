"""Parameters and answer of the statements that accept jobs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, cast

from ..arraytext import array_text, item_text, quoted
from ..states import JobState, WorkflowRole
from .base import Row

_STATES: Final = {state.value: state for state in JobState}
_EMPTY: Final = "{}"
# PostgreSQL's texts do not hold it; should one be given, the driver is to refuse it.
_BETWEEN: Final = "\x00"


class NewJob(NamedTuple):
    """A validated job to accept; `args` and `kwargs` are JSON text."""

    queue: str
    task: str
    args: str
    kwargs: str
    max_attempts: int
    priority: int = 0
    run_at: dt.datetime | None = None
    idempotency_key: str | None = None
    traceparent: str | None = None
    tracestate: str | None = None
    concurrency_key: str | None = None
    # Of a workflow's job: its place there, and how many jobs it waits for; `enqueue_jobs` alone takes these.
    workflow_id: int | None = None
    workflow_role: WorkflowRole | None = None
    pending_dependencies: int = 0
    name: str | None = None


class Accepted(NamedTuple):
    """A row that an enqueue created."""

    id: int
    created_at: dt.datetime
    state: JobState


def enqueue_params(job: NewJob, now: dt.datetime | None) -> dict[str, Any]:
    """Return the parameters of enqueue_job."""
    return {
        "queue": job.queue, "task": job.task, "args": job.args, "kwargs": job.kwargs, "priority": job.priority,
        "max_attempts": job.max_attempts, "run_at": job.run_at, "idempotency_key": job.idempotency_key,
        "traceparent": job.traceparent, "tracestate": job.tracestate, "concurrency_key": job.concurrency_key,
        "now": now,
    }  # fmt: skip


def bulk_params(jobs: Sequence[NewJob], ready_seqs: Sequence[int] | None, now: dt.datetime | None) -> dict[str, Any]:
    """Return the parameters of enqueue_jobs."""
    return {
        "queues": _texts([job.queue for job in jobs]),
        "tasks": _texts([job.task for job in jobs]),
        "priorities": _numbers([job.priority for job in jobs], 0),
        "run_ats": [job.run_at for job in jobs] if any(job.run_at for job in jobs) else _EMPTY,
        "max_attempts": _numbers([job.max_attempts for job in jobs]),
        "idempotency_keys": _texts([job.idempotency_key for job in jobs]),
        "args": _texts([job.args for job in jobs]),
        "kwargs": _texts([job.kwargs for job in jobs], "{}"),
        "traceparents": _texts([job.traceparent for job in jobs]),
        "tracestates": _texts([job.tracestate for job in jobs]),
        "concurrency_keys": _texts([job.concurrency_key for job in jobs]),
        "workflow_ids": _numbers([job.workflow_id for job in jobs]),
        "workflow_roles": _texts([job.workflow_role for job in jobs]),
        "pendings": _numbers([job.pending_dependencies for job in jobs], 0),
        "names": _texts([job.name for job in jobs]),
        "ready_seqs": _numbers(ready_seqs or []),
        "now": now,
    }


def accepted_from(rows: Iterable[Row]) -> Accepted | None:
    """Return what enqueue_job answered."""
    for job_id, created_at, state in rows:
        return Accepted(job_id, created_at, _STATES[state])
    return None


def all_accepted_from(rows: Iterable[Row], count: int) -> list[Accepted | None]:
    """Return what enqueue_jobs answered, for each of `count` jobs."""
    accepted: list[Accepted | None] = [None] * count
    for created_at, places, ids, states in rows:
        # Null where no key was free.
        for place, job_id, state in zip(places or (), ids or (), states or (), strict=True):
            accepted[place - 1] = Accepted(job_id, created_at, _STATES[state])
    return accepted


def _texts(items: Sequence[str | None], default: str | None = None) -> str:
    """Return PostgreSQL's text of an array; of an empty one where every item is the default."""
    if items.count(default) == len(items):
        return _EMPTY
    if None not in items:
        # All of them at once: a call for each takes longer than all the rest.
        joined = _BETWEEN.join(cast("Sequence[str]", items))
        if joined.count(_BETWEEN) == len(items) - 1:
            return array_text([quoted(joined).replace(_BETWEEN, '","')])
    return array_text(map(item_text, items))


def _numbers(items: Sequence[int | None], default: int | None = None) -> str:
    if items.count(default) == len(items):
        return _EMPTY
    return array_text(map(item_text, items))
