"""A stored job's task, also where its function is gone or its queue is no longer declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from .conf import conveyor_settings
from .errors import UnknownTask
from .registry import resolve_task
from .tasks import ConveyorTask, options_of

if TYPE_CHECKING:
    from .compat import Task
    from .models import Job


def task_of(job: Job, *, backend: str) -> Task[..., Any]:
    """Return the task as it was enqueued, for the task backend named `backend`.

    Not through its constructor, which would refuse a queue or an option that has been taken away since.
    """
    try:
        declared = resolve_task(job.task)
    except UnknownTask as error:
        return _task(ConveyorTask, _defaults(job.task, error) | _stored(job, backend) | _budget(job))
    values = {f.name: getattr(declared, f.name) for f in fields(declared)} | _stored(job, backend)
    if job.max_attempts != (options_of(declared).max_attempts or conveyor_settings().max_attempts):
        values |= _budget(job)
    return _task(type(declared), values)


def _stored(job: Job, backend: str) -> dict[str, Any]:
    # run_at becomes the time of the next try; before the first run it is what was asked for.
    asked = job.started_at is None and job.run_at > job.created_at
    return {
        "backend": backend,
        "queue_name": job.queue,
        "priority": job.priority,
        "run_after": job.run_at if asked else None,
        "idempotency_key": job.idempotency_key,
        "concurrency_key": job.concurrency_key,
    }


def _budget(job: Job) -> dict[str, Any]:
    return {"max_attempts": job.max_attempts}


def _defaults(path: str, error: UnknownTask) -> dict[str, Any]:
    return {f.name: f.default for f in fields(ConveyorTask)} | {
        "func": _absent(path, error), "takes_context": False,
    }  # fmt: skip


def _absent(path: str, error: UnknownTask) -> Callable[..., Any]:
    """Return a function with the path of the one that is gone; a call says why it is."""

    def absent(*args: Any, **kwargs: Any) -> Any:  # noqa: ARG001 - whatever it is called with
        raise UnknownTask(error.path, error.reason)

    absent.__module__, _, absent.__name__ = path.rpartition(".")
    absent.__qualname__ = absent.__name__
    return absent


def _task(task_class: type[Task[..., Any]], values: dict[str, Any]) -> Task[..., Any]:
    task = object.__new__(task_class)
    for field in fields(task_class):
        object.__setattr__(task, field.name, values[field.name])
    return task
