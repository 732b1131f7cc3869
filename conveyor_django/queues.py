"""What may be set while everything runs: pauses of queues and of tasks, and how many jobs of a queue run at once."""

from __future__ import annotations

import difflib
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal

from django.db.models.functions import Now

from .compat import Task, task_backends
from .conf import MAX_EXACT_CAP, MAX_INTEGER, MAX_QUEUE_LENGTH, conveyor_settings, is_queue_name
from .enqueue import stores_jobs
from .errors import UnknownTask, describe
from .jsonrule import is_storable
from .notify import notify_on_commit
from .registry import resolve_task
from .transactions import joined

if TYPE_CHECKING:
    from .managers.jobs import JobManager

# Jobs that a resume puts back in line itself; the scheduler does the rest.
UNPARK_AT_ONCE: Final = 1_000


class _Kept(Enum):
    KEPT = "as it is"


KEPT: Final = _Kept.KEPT
Cap = int | None | Literal[_Kept.KEPT]


def pause_queue(queue: str) -> None:
    """Let nothing more of the queue be claimed, from the commit of the caller's transaction on; what runs, runs on.

    Raises ValueError for what is no queue's name, and for one that TASKS does not declare, unless it has settings.
    """
    _set(queue, paused=True)


def resume_queue(queue: str) -> None:
    """Undo `pause_queue`. Raises ValueError as that does."""
    from .models import Queue

    alias = _alias(queue)
    with joined(alias):
        if Queue.objects.using(alias).filter(name=queue, paused=True).update(paused=False):
            notify_on_commit([queue], alias=alias)


def pause_task(task: Task[..., Any] | str) -> None:
    """Let no more jobs of the task, or of that dotted path, be claimed in any queue; as `pause_queue` otherwise.

    Raises TypeError or ValueError for what is no task, and ValueError for a path where there is none, unless it has
    jobs or is paused already.
    """
    from .models import PausedTask

    path = _path(task)
    _check_task(path, task)
    row = PausedTask(task=path, paused_at=Now())
    for alias in conveyor_settings().databases:
        with joined(alias):
            PausedTask.objects.using(alias).bulk_create([row], ignore_conflicts=True)


def resume_task(task: Task[..., Any] | str) -> None:
    """Undo `pause_task`. Raises TypeError or ValueError as that does."""
    from .models import PausedTask

    path = _path(task)
    _check_task(path, task)
    for alias in conveyor_settings().databases:
        with joined(alias):
            PausedTask.objects.using(alias).filter(task=path).delete()
            unparked = _jobs(alias).unpark_tasks(limit=UNPARK_AT_ONCE)
            notify_on_commit(sorted(set(unparked.values())), alias=alias)


def set_caps(queue: str, *, soft: Cap = KEPT, exact: Cap = KEPT, per_key: Cap = KEPT) -> None:
    """Set how many jobs of the queue run at once; None for no cap (`per_key`: for one), what is left out stays.

    `soft` is counted without a lock and may be passed for a moment. `exact` and `per_key`, the cap of each
    concurrency key, never are, once the runs that began before have ended. Raises TypeError or ValueError for what is
    no cap, and ValueError for a queue as `pause_queue` does.
    """
    given = {"soft_cap": soft, "exact_cap": exact, "key_cap": per_key}
    caps = {name: value for name, value in given.items() if value is not KEPT}
    for name, value in caps.items():
        _check_cap(name, value)
    alias = _alias(queue)
    if caps:
        _set(queue, **caps)
        # There may be more room now.
        notify_on_commit([queue], alias=alias)


def declared_queues() -> tuple[str, ...]:
    """Return the queues of Conveyor's backends in TASKS; none if one of them takes any queue, or there is none."""
    declared: list[set[str]] = [backend.queues for backend in task_backends.all() if stores_jobs(backend)]
    return tuple(sorted(set().union(*declared))) if all(declared) else ()


def _set(queue: str, **values: Any) -> None:
    """Write settings of a queue, which may have none yet."""
    from .models import Queue

    alias = _alias(queue)
    with joined(alias):
        Queue.objects.using(alias).bulk_create(
            [Queue(name=queue, **values)], update_conflicts=True, unique_fields=["name"], update_fields=list(values)
        )


def _check_cap(name: str, value: Any) -> None:
    if value is None:
        return
    most = MAX_INTEGER if name == "soft_cap" else MAX_EXACT_CAP
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number or None, not {describe(value)}.")
    if not 1 <= value <= most:
        raise ValueError(f"{name} must be from 1 to {most:,}, not {value}; pass None for no cap, pause_queue() for 0.")


def _alias(queue: str) -> str:
    if not is_queue_name(queue):
        raise ValueError(
            f"{describe(queue)} is no queue's name: pass text of 1 to {MAX_QUEUE_LENGTH} characters that PostgreSQL "
            f"can store."
        )
    alias = conveyor_settings().database_of(queue)
    _check_declared(queue, alias)
    return alias


def _check_declared(queue: str, alias: str) -> None:
    """Refuse a queue that no job can be in; one that has settings, from a time when it was declared, may be changed."""
    from .models import Queue

    declared = declared_queues()
    if not declared or queue in declared or Queue.objects.using(alias).filter(name=queue).exists():
        return
    close = difflib.get_close_matches(queue, declared, n=1)
    hint = f"Did you mean {close[0]!r}?" if close else f"Declared are {', '.join(map(repr, declared))}."
    raise ValueError(f"no Conveyor backend in TASKS declares the queue {queue!r} in its QUEUES. {hint}")


def _check_task(path: str, given: Task[..., Any] | str) -> None:
    """Refuse a path where there is no task; one that is paused or has jobs may be known to other code only."""
    from .models import Job, PausedTask

    if isinstance(given, Task):
        return
    try:
        resolve_task(path)
    except UnknownTask as error:
        for alias in conveyor_settings().databases:
            if any(model.objects.using(alias).filter(task=path).exists() for model in (PausedTask, Job)):
                return
        raise ValueError(
            f"{path!r} is no task: {error.reason}; and no job names it. Correct the path, or pass the task itself."
        ) from error


def _path(task: Any) -> str:
    if isinstance(task, Task):
        return task.module_path
    if not isinstance(task, str):
        raise TypeError(f"{describe(task)} is no task: pass the task or its path, such as 'shop.tasks.charge'.")
    if "." not in task or not is_storable(task):
        raise ValueError(f"{describe(task)} is no task's path: pass one such as 'shop.tasks.charge', or the task.")
    return task


def _jobs(alias: str) -> JobManager:
    from .models import Job

    return Job.objects.db_manager(alias)
