"""Looking at what was enqueued."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..jsonrule import normalize
from ..results import result_id
from ..states import JobState
from .databases import databases_of

if TYPE_CHECKING:
    from ..compat import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class EnqueuedJob:
    """A job as the tables have it; `id` is its result's id."""

    id: str
    task: str
    queue: str
    args: list[Any]
    kwargs: dict[str, Any]
    state: JobState
    priority: int
    run_at: dt.datetime
    idempotency_key: str | None

    def __str__(self) -> str:
        shown = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        return f"{self.task}({', '.join(shown)}) in {self.queue!r}, {self.state}"


def enqueued(task: Task[..., Any] | str | None = None, *, queue: str | None = None) -> list[EnqueuedJob]:
    """Return the jobs in the tables, in whatever state, oldest first; those of a task and of a queue, if given."""
    from ..models import Job

    wanted: dict[str, Any] = {}
    if task is not None:
        wanted["task"] = _path(task)
    if queue is not None:
        wanted["queue"] = queue
    return [
        EnqueuedJob(
            id=result_id(alias, job.pk), task=job.task, queue=job.queue, args=job.payload.args,
            kwargs=job.payload.kwargs, state=JobState(job.state), priority=job.priority, run_at=job.run_at,
            idempotency_key=job.idempotency_key,
        )
        for alias in databases_of(() if queue is None else (queue,))
        for job in Job.objects.using(alias).select_related("payload").filter(**wanted).order_by("pk")
    ]  # fmt: skip


def assert_enqueued(
    task: Task[..., Any] | str,
    *,
    args: Sequence[Any] | None = None,
    kwargs: dict[str, Any] | None = None,
    queue: str | None = None,
    count: int | None = None,
    **fields: Any,
) -> list[EnqueuedJob]:
    """Fail unless the task was enqueued so: `count` times, or at least once where that is None; return those jobs.

    `args`, `kwargs` and any other field of EnqueuedJob are compared where given. Raises AssertionError that lists
    what was enqueued, and TypeError for a field that there is not.
    """
    if unknown := set(fields) - set(EnqueuedJob.__slots__):
        raise TypeError(
            f"assert_enqueued() knows no {', '.join(sorted(unknown))}; compare {', '.join(EnqueuedJob.__slots__)}."
        )
    if args is not None:
        fields["args"] = normalize(list(args), "args")
    if kwargs is not None:
        fields["kwargs"] = normalize(kwargs, "kwargs")
    found = [
        job for job in enqueued(task, queue=queue) if all(getattr(job, name) == value for name, value in fields.items())
    ]
    if len(found) == count or (count is None and found):
        return found
    wanted = ", ".join(f"{name}={value!r}" for name, value in fields.items()) or "any arguments"
    raise AssertionError(
        f"{_path(task)} with {wanted} was enqueued {len(found)} times, "
        f"not {'at least once' if count is None else count}. {_listed(enqueued(queue=queue))}"
    )


def assert_not_enqueued(task: Task[..., Any] | str, **wanted: Any) -> None:
    """Fail if the task was enqueued so; takes what `assert_enqueued` takes."""
    assert_enqueued(task, **wanted, count=0)


def _path(task: Task[..., Any] | str) -> str:
    return task if isinstance(task, str) else task.module_path


def _listed(jobs: list[EnqueuedJob]) -> str:
    if not jobs:
        return "Nothing was enqueued."
    return "Enqueued were:" + "".join(f"\n  {job}" for job in jobs)
