"""The task backends to name in settings.TASKS."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from . import compat
from .compat import InvalidTask, announce, has_listeners, task_enqueued
from .conf import MAX_QUEUE_LENGTH, conveyor_settings
from .errors import describe
from .jsonrule import is_storable
from .tasks import ConveyorTask, P, R

if TYPE_CHECKING:
    from .compat import Task, TaskResult

    Result = TaskResult[..., Any]

PACKAGE: Final = __package__

# No model may be imported here: backends are made while task modules are imported, before the apps are ready.


class ConveyorBackend(compat.BaseTaskBackend):
    """Stores tasks as jobs in the PostgreSQL database CONVEYOR["DATABASE"]; `conveyor_worker` runs them."""

    task_class = ConveyorTask
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        if not any(app == PACKAGE or app.startswith(f"{PACKAGE}.") for app in settings.INSTALLED_APPS):
            raise ImproperlyConfigured(
                f"TASKS[{alias!r}] uses {type(self).__name__}, but {PACKAGE!r} is not in INSTALLED_APPS. "
                f"Add it and run `manage.py migrate`."
            )

    def validate_task(self, task: Task[..., Any]) -> None:
        """Refuse a task that this backend cannot run. Raises InvalidTask with the value and the fix."""
        _check_queue(task, self.alias, self.queues)
        super().validate_task(task)

    def enqueue(self, task: Task[P, R], args: Sequence[Any], kwargs: Mapping[str, Any]) -> TaskResult[P, R]:
        """Store a job and return its READY result; the current result of the job that has the same key."""
        from .enqueue import Existing, enqueue
        from .results import accepted_result, stored_result

        self.validate_task(task)
        alias = conveyor_settings().database
        stored = enqueue(task, args, kwargs)
        if isinstance(stored, Existing):
            return cast("TaskResult[P, R]", stored_result(stored.id, alias=alias, backend=self.alias))
        result = cast("TaskResult[P, R]", accepted_result(task, stored, args, kwargs, alias=alias))
        if has_listeners(task_enqueued, logging.DEBUG):
            announce(task_enqueued, sender=type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> Result:
        """Return what became of a job. Raises TaskResultDoesNotExist for an unknown or malformed id."""
        from .results import job_id_of, stored_result

        alias = conveyor_settings().database
        return stored_result(job_id_of(result_id, alias=alias), alias=alias, backend=self.alias)

    def check(self, **kwargs: Any) -> list[Any]:
        """Return what is wrong with this backend's settings."""
        from .checks import check_backend

        return [*super().check(**kwargs), *check_backend(self.alias)]


class _Checked:
    """Makes a stock backend take tasks with Conveyor's options, and refuse what Conveyor would refuse."""

    task_class: Any = ConveyorTask

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Check the call as an enqueue to Conveyor does, then do what the stock backend does."""
        from .enqueue import prepare

        prepare(task, args, kwargs)
        return super().enqueue(task, args, kwargs)  # type: ignore[misc]


class ImmediateBackend(_Checked, compat.ImmediateBackend):
    """The framework's ImmediateBackend, which runs a task at once; the options are ignored."""


class DummyBackend(_Checked, compat.DummyBackend):
    """The framework's DummyBackend, which only remembers what was enqueued; the options are ignored."""


def is_queue_name(name: Any) -> bool:
    """Say whether a queue can have this name."""
    return isinstance(name, str) and 1 <= len(name) <= MAX_QUEUE_LENGTH and is_storable(name)


def _check_queue(task: Task[..., Any], backend: str, declared: set[str]) -> None:
    queue = task.queue_name
    if declared and queue not in declared:
        raise InvalidTask(
            f"Queue {describe(queue)} is not valid for backend {backend!r}, which declares "
            f"{', '.join(map(repr, sorted(declared)))}. Add it to TASKS[{backend!r}]['QUEUES'], or set that "
            f"to [] to allow any."
        )
    if not is_queue_name(queue):
        raise InvalidTask(
            f"Queue {describe(queue)} is not valid: a queue's name is text of 1 to {MAX_QUEUE_LENGTH} "
            f"characters that PostgreSQL can store."
        )
