"""What may be set while everything runs: pauses of queues and of tasks, and how many jobs of a queue run at once."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal

from django.db.models.functions import Now

from .compat import Task
from .conf import MAX_EXACT_CAP, MAX_INTEGER, MAX_QUEUE_LENGTH, conveyor_settings, is_queue_name
from .errors import describe
from .jsonrule import is_storable
from .notify import notify_on_commit

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

    Raises ValueError for what is no queue's name.
    """
    _set(queue, paused=True)


def resume_queue(queue: str) -> None:
    """Undo `pause_queue`. Raises ValueError for what is no queue's name."""
    from .models import Queue

    alias = _alias(queue)
    if Queue.objects.using(alias).filter(name=queue, paused=True).update(paused=False):
        notify_on_commit([queue], alias=alias)


def pause_task(task: Task[..., Any] | str) -> None:
    """Let no more jobs of the task, or of that dotted path, be claimed in any queue; as `pause_queue` otherwise.

    Raises TypeError or ValueError for what is no task.
    """
    from .models import PausedTask

    row = PausedTask(task=_path(task), paused_at=Now())
    for alias in conveyor_settings().databases:
        PausedTask.objects.using(alias).bulk_create([row], ignore_conflicts=True)


def resume_task(task: Task[..., Any] | str) -> None:
    """Undo `pause_task`. Raises TypeError or ValueError for what is no task."""
    from .models import PausedTask

    path = _path(task)
    for alias in conveyor_settings().databases:
        PausedTask.objects.using(alias).filter(task=path).delete()
        unparked = _jobs(alias).unpark_tasks(limit=UNPARK_AT_ONCE)
        notify_on_commit(sorted(set(unparked.values())), alias=alias)


def set_caps(queue: str, *, soft: Cap = KEPT, exact: Cap = KEPT, per_key: Cap = KEPT) -> None:
    """Set how many jobs of the queue run at once; None for no cap (`per_key`: for one), what is left out stays.

    `soft` is counted without a lock and may be passed for a moment. `exact` and `per_key`, the cap of each
    concurrency key, never are, once the runs that began before have ended. Raises TypeError or ValueError for what is
    no cap or no queue's name.
    """
    given = {"soft_cap": soft, "exact_cap": exact, "key_cap": per_key}
    caps = {name: value for name, value in given.items() if value is not KEPT}
    for name, value in caps.items():
        _check_cap(name, value)
    if caps:
        _set(queue, **caps)
        # There may be more room now.
        notify_on_commit([queue], alias=_alias(queue))


def _set(queue: str, **values: Any) -> None:
    """Write settings of a queue, which may have none yet."""
    from .models import Queue

    Queue.objects.using(_alias(queue)).bulk_create(
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
    return conveyor_settings().database_of(queue)


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
