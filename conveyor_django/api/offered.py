"""The tasks that the API may enqueue: those that were declared with http=True, in modules that are imported."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import autodiscover_modules

from ..enqueue import stores_jobs
from ..registry import offered_task
from ..tasks import ConveyorTask
from .access import Caller, require_queue
from .inputs import NewJob
from .problems import invalid


def task_for(caller: Caller, job: NewJob, key: str | None, place: str = "#") -> ConveyorTask[..., Any]:
    """Return the task of a job, with the options that the caller gave it; `place` is where the job stands in the body.

    Raises Problem: one and the same for a task that was not offered and for a path where there is none; and for a
    queue that is not the caller's.
    """
    task = _offered(job.task)
    if task is None:
        raise invalid(f"{job.task!r} is no task that can be enqueued here.", pointer=f"{place}/task")
    require_queue(caller, job.queue or task.queue_name)
    backend = task.get_backend()
    if not stores_jobs(backend):
        raise ImproperlyConfigured(
            f"TASKS[{task.backend!r}] is {type(backend).__qualname__}, which stores no jobs, so the HTTP API cannot "
            f"enqueue {task.module_path}. Use conveyor_django.backend.ConveyorBackend."
        )
    if job.queue is not None and backend.queues and job.queue not in backend.queues:
        raise invalid(f"There is no queue {job.queue!r}.", pointer=f"{place}/queue")
    return task.using(
        queue_name=job.queue,
        priority=job.priority,
        run_after=job.run_after,
        max_attempts=job.max_attempts,
        idempotency_key=key,
    )


def _offered(path: str) -> ConveyorTask[..., Any] | None:
    _discover()
    task = offered_task(path)
    return task if isinstance(task, ConveyorTask) else None


@cache
def _discover() -> None:
    """Import each app's `tasks` module, as a process that never enqueues by itself may not have done."""
    autodiscover_modules("tasks")
