"""Tasks of the tests of enqueue: made by the framework's own decorator (`plain_…`) and by Conveyor's."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from conveyor_django import ConveyorContext, task
from conveyor_django.compat import FRAMEWORK

framework: Any = import_module(FRAMEWORK)

# TASKS with a backend that is not Conveyor's beside the default one.
FOREIGN = {
    "default": {"BACKEND": "conveyor_django.backend.ConveyorBackend"},
    "foreign": {"BACKEND": f"{framework.__name__}.backends.dummy.DummyBackend"},
}


@framework.task
def plain_add(a: int, b: int = 0) -> int:
    """A task as any Django project has it."""
    return a + b


@framework.task(queue_name="orders", priority=7, takes_context=True)
def plain_with_context(context: Any, order: str) -> str:
    """A task with every option of the framework's decorator."""
    return f"{order}: {context.attempt}"


@framework.task
async def plain_async(a: int) -> int:
    """An async task."""
    return a


@task
def anything(*args: Any, **kwargs: Any) -> None:
    """Takes whatever JSON can hold."""


def two_seconds(error: BaseException, result: Any) -> float:
    """Return the delay of the next attempt."""
    return 2.0


@task(max_attempts=3, timeout=1.5, atomic=True, backoff=two_seconds)
def with_options(order: int, note: str = "") -> int:
    """A task with Conveyor's options."""
    return order


@task(takes_context=True)
def with_context(context: ConveyorContext, order: int) -> str:
    """A task that takes its context."""
    return context.idempotency_token


class Holder:
    """A place for tasks that are not at a module's top level."""

    @staticmethod
    def not_a_task() -> None:
        """A function."""

    @task
    def nested() -> None:  # type: ignore[misc]
        """A task inside a class."""


def undecorated() -> None:
    """A function of which a task was made under another name."""


renamed = task(undecorated)
anonymous = task(lambda: None)
