"""The only import site of Django's task framework: `django.tasks` on 6.0+, the backport on 5.2."""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any, Final

import django
from django.core.exceptions import ImproperlyConfigured

from .listeners import is_heard
from .log import event, get_logger

if TYPE_CHECKING:
    from django.dispatch import Signal

if TYPE_CHECKING or django.VERSION >= (6, 0):
    import django.tasks as framework
    from django.tasks import exceptions, task_backends
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.backends.dummy import DummyBackend
    from django.tasks.backends.immediate import ImmediateBackend
    from django.tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
    from django.tasks.exceptions import TaskResultDoesNotExist, TaskResultMismatch
    from django.tasks.signals import task_enqueued, task_finished, task_started
    from django.utils.json import normalize_json
else:
    try:
        import django_tasks as framework
        from django_tasks import exceptions, task_backends
        from django_tasks.backends.base import BaseTaskBackend
        from django_tasks.backends.dummy import DummyBackend
        from django_tasks.backends.immediate import ImmediateBackend
        from django_tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
        from django_tasks.exceptions import TaskResultDoesNotExist, TaskResultMismatch
        from django_tasks.signals import task_enqueued, task_finished, task_started
        from django_tasks.utils import normalize_json
    except ImportError as error:
        raise ImproperlyConfigured(
            "Conveyor needs Django's task framework: Django 6.0+ has it; on Django 5.2 run `pip install django-tasks`."
        ) from error

# The backport renamed this one after 0.12.
_INVALID_TASK: Final = "InvalidTask" if hasattr(exceptions, "InvalidTask") else "InvalidTaskError"
InvalidTask: type[Exception] = getattr(exceptions, _INVALID_TASK)

# "django.tasks" or "django_tasks": the framework's package, and its logger.
FRAMEWORK: Final[str] = framework.__name__

__all__ = [
    "FRAMEWORK",
    "BaseTaskBackend",
    "DummyBackend",
    "ImmediateBackend",
    "InvalidTask",
    "Task",
    "TaskContext",
    "TaskError",
    "TaskResult",
    "TaskResultDoesNotExist",
    "TaskResultMismatch",
    "TaskResultStatus",
    "announce",
    "has_listeners",
    "has_receivers",
    "normalize_json",
    "register_framework_checks",
    "task_backends",
    "task_enqueued",
    "task_finished",
    "task_started",
]

_logger = logging.getLogger(FRAMEWORK)
_own_logger = get_logger("signals")
# The framework connects one receiver of its own to each signal: it writes a log line.
_OWN_RECEIVERS: Final = 1


def has_listeners(signal: Signal, level: int) -> bool:
    """Say whether sending `signal` would do anything: a receiver besides the framework's, or its log line."""
    return has_receivers(signal) or is_heard(_logger, level)


def has_receivers(signal: Signal) -> bool:
    """Say whether sending `signal` would run code of the project's."""
    return len(signal.receivers) > _OWN_RECEIVERS


def announce(signal: Signal, *, sender: type, task_result: TaskResult[..., Any]) -> None:
    """Send one of the framework's signals; a receiver's error is logged and stops nobody."""
    try:
        signal.send_robust(sender=sender, task_result=task_result)
    except Exception as error:  # noqa: BLE001 - Django's own log line fails for a receiver without a __qualname__
        event(_own_logger, logging.ERROR, "signal.failed", error=repr(error), exc_info=error)


def register_framework_checks() -> None:
    """Make `manage.py check` run the task backends' own checks, which nothing else need have imported."""
    importlib.import_module(f"{FRAMEWORK}.checks")
