"""The only import site of Django's task framework: `django.tasks` on 6.0+, the backport on 5.2."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ImproperlyConfigured

try:
    import django.tasks as framework  # type: ignore[import-untyped,unused-ignore]
    from django.tasks import base, exceptions, signals
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.backends.dummy import DummyBackend
    from django.tasks.backends.immediate import ImmediateBackend

    LOGGER_NAME = "django.tasks"
except ImportError:
    try:
        import django_tasks as framework  # type: ignore[no-redef,import-not-found,unused-ignore]
        from django_tasks import base, exceptions, signals  # type: ignore[no-redef,unused-ignore]
        from django_tasks.backends.base import BaseTaskBackend  # type: ignore[no-redef,assignment,unused-ignore]
        from django_tasks.backends.dummy import DummyBackend  # type: ignore[no-redef,assignment,unused-ignore]
        from django_tasks.backends.immediate import (  # type: ignore[no-redef,assignment,unused-ignore]
            ImmediateBackend,
        )
    except ImportError as error:
        raise ImproperlyConfigured(
            "Conveyor needs Django's task framework: Django 6.0+ has it; on Django 5.2 run "
            "`pip install django-tasks`."
        ) from error

    LOGGER_NAME = "django_tasks"

if TYPE_CHECKING:
    from django.dispatch import Signal

Task = base.Task
TaskContext = base.TaskContext
TaskError = base.TaskError
TaskResult = base.TaskResult
TaskResultStatus = base.TaskResultStatus
TaskResultDoesNotExist = exceptions.TaskResultDoesNotExist
# The backport renamed its two exceptions after 0.12.
InvalidTask: type[Exception] = getattr(exceptions, "InvalidTask", None) or exceptions.InvalidTaskError
task_backends = framework.task_backends
task_enqueued: Signal = signals.task_enqueued
task_started: Signal = signals.task_started
task_finished: Signal = signals.task_finished

__all__ = [
    "BaseTaskBackend",
    "DummyBackend",
    "ImmediateBackend",
    "InvalidTask",
    "Task",
    "TaskContext",
    "TaskError",
    "TaskResult",
    "TaskResultDoesNotExist",
    "TaskResultStatus",
    "has_listeners",
    "register_framework_checks",
    "task_backends",
    "task_enqueued",
    "task_finished",
    "task_started",
]

_logger = logging.getLogger(LOGGER_NAME)
_own_receivers = 1  # The framework connects one receiver of its own to each signal: it writes a log line.


def has_listeners(signal: Signal, level: int) -> bool:
    """Say whether sending `signal` would do anything: a receiver besides the framework's, or its log line."""
    return len(signal.receivers) > _own_receivers or _logger.isEnabledFor(level)


def register_framework_checks() -> None:
    """Make `manage.py check` run the task backends' own checks, which nothing else imports."""
    import importlib

    importlib.import_module(f"{framework.__name__}.checks")


