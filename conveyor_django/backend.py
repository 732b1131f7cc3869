"""The task backends to name in settings.TASKS."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from inspect import isfunction
from typing import TYPE_CHECKING, Any, Final, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from . import compat
from .compat import InvalidTask, announce, has_listeners, task_enqueued
from .conf import MAX_QUEUE_LENGTH, conveyor_settings, is_queue_name
from .errors import describe, name_place
from .tasks import ConveyorTask, P, R

if TYPE_CHECKING:
    from .calls import Call
    from .compat import Task, TaskResult

    Result = TaskResult[..., Any]

PACKAGE: Final = __package__

# No model may be imported here: backends are made while task modules are imported, before the apps are ready.


class ConveyorBackend(compat.BaseTaskBackend):
    """Stores tasks as jobs in the PostgreSQL database of their queue; `conveyor_worker` runs them."""

    task_class = ConveyorTask
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True
    # What tells it from others below this layer: see enqueue.stores_jobs().
    stores_jobs = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self._passed: set[tuple[Any, ...]] = set()
        if not any(app == PACKAGE or app.startswith(f"{PACKAGE}.") for app in settings.INSTALLED_APPS):
            raise ImproperlyConfigured(
                f"TASKS[{alias!r}] uses {type(self).__name__}, but {PACKAGE!r} is not in INSTALLED_APPS. "
                f"Add it and run `manage.py migrate`."
            )

    def validate_task(self, task: Task[..., Any]) -> None:
        """Refuse a task that this backend cannot run. Raises InvalidTask with the value and the fix."""
        _check_queue(task, self.alias, self.queues)
        if task.run_after is not None or not isfunction(task.func):
            super().validate_task(task)
            return
        # What the framework's own checks look at, but for the queue; asked at every enqueue, and twice for `using()`.
        looked_at = (task.func, task.takes_context, task.priority)
        if looked_at not in self._passed:
            super().validate_task(task)
            self._passed.add(looked_at)

    def enqueue(self, task: Task[P, R], args: Sequence[Any], kwargs: Mapping[str, Any]) -> TaskResult[P, R]:
        """Store a job and return its READY result; the current result of the job that has the same key."""
        return self.accept(task, args, kwargs)[0]

    def accept(self, task: Task[P, R], args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[TaskResult[P, R], bool]:
        """Do as `enqueue`, and say also whether the job is new."""
        from .conflicts import Existing
        from .enqueue import enqueue
        from .results import accepted_result, stored_result

        self.validate_task(task)
        settings = conveyor_settings()
        alias = settings.database_of(task.queue_name)
        stored = enqueue(task, args, kwargs, settings)
        if isinstance(stored, Existing):
            return cast("TaskResult[P, R]", stored_result(stored.id, alias=alias, backend=self.alias)), False
        result = cast("TaskResult[P, R]", accepted_result(task, stored, args, kwargs, alias=alias))
        self._announce([result])
        return result, True

    def enqueue_many(self, calls: Sequence[Call[..., Any]]) -> list[Result]:
        """Store a job for each call, or none; return their results in the order given. Called by `enqueue_many`."""
        return self.accept_many(calls)[0]

    def accept_many(self, calls: Sequence[Call[..., Any]]) -> tuple[list[Result], list[Result]]:
        """Do as `enqueue_many`, and return also those of the results that are of new jobs."""
        from .bulk import store_calls

        for place, call in enumerate(calls):
            self._validate_at(call.task, f"calls[{place}]")
        results, new = store_calls(calls, backend=self.alias)
        self._announce(new)
        return results, new

    def _validate_at(self, task: Task[..., Any], place: str) -> None:
        try:
            self.validate_task(task)
        except Exception as error:
            name_place(error, place)
            raise

    def _announce(self, results: Iterable[Result]) -> None:
        if has_listeners(task_enqueued, logging.DEBUG):
            for result in results:
                announce(task_enqueued, sender=type(self), task_result=result)

    def get_result(self, result_id: str) -> Result:
        """Return what became of a job. Raises TaskResultDoesNotExist for an unknown or malformed id."""
        from .results import place_of, stored_result

        job_id, alias = place_of(result_id)
        return stored_result(job_id, alias=alias, backend=self.alias)

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

    def enqueue_many(self, calls: Sequence[Call[..., Any]]) -> list[Any]:
        """Check all of the calls, then do what the stock backend does with each."""
        from .enqueue import prepared

        for place, call in enumerate(calls):
            prepared(call.task, call.args, call.kwargs, f"calls[{place}]")
        return [self.enqueue(call.task, call.args, call.kwargs) for call in calls]


class ImmediateBackend(_Checked, compat.ImmediateBackend):
    """The framework's ImmediateBackend, which runs a task at once; the options are ignored."""


class DummyBackend(_Checked, compat.DummyBackend):
    """The framework's DummyBackend, which only remembers what was enqueued; the options are ignored."""


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
