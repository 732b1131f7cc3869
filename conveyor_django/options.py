"""The options that Conveyor adds to a task, and what each of them may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from .compat import InvalidTask, TaskResult
from .conf import MAX_INTEGER, MAX_KEY_LENGTH
from .errors import describe
from .jsonrule import is_storable

if TYPE_CHECKING:
    from .tasks import ConveyorTask

# The framework's own bounds, and a CHECK's.
MIN_PRIORITY: Final = -100
MAX_PRIORITY: Final = 100

# Called with the exception and the run's result (whose `attempts` counts from 1); returns the delay of the
# next attempt in seconds or as a timedelta. The signature is that of the proposal for Django itself.
if TYPE_CHECKING:
    Backoff = Callable[[BaseException, TaskResult[..., Any]], float | timedelta]
else:
    Backoff = Callable[[BaseException, TaskResult], float | timedelta]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions:
    """The options that a worker needs of a task."""

    max_attempts: int | None = None
    backoff: Backoff | None = None
    timeout: float | None = None
    atomic: bool = False


def check_options(task: ConveyorTask[..., Any]) -> None:
    """Refuse what no worker could honour. Raises InvalidTask with the task, the value and the fix."""
    for complaint in (
        _bad_priority(task.priority),
        _bad_max_attempts(task.max_attempts),
        _bad_backoff(task.backoff),
        _bad_timeout(task.timeout),
        _bad_atomic(task.atomic),
        _bad_key(task.idempotency_key),
        _bad_run_after(task.run_after),
    ):
        if complaint:
            raise InvalidTask(f"{task.module_path}: {complaint}.")


def _bad_priority(value: Any) -> str | None:
    if _is_number(value) and value == int(value) and MIN_PRIORITY <= value <= MAX_PRIORITY:
        return None
    return f"priority must be a whole number from {MIN_PRIORITY} to {MAX_PRIORITY}, not {describe(value)}"


def _bad_max_attempts(value: Any) -> str | None:
    if value is None or (_is_number(value) and value == int(value) and 1 <= value <= MAX_INTEGER):
        return None
    return (
        f"max_attempts must be a whole number of at least 1, not {describe(value)}; "
        f"leave it out for CONVEYOR['MAX_ATTEMPTS']"
    )


def _bad_backoff(value: Any) -> str | None:
    if value is None or callable(value):
        return None
    return (
        f"backoff must be a callable, backoff(exception, task_result), not {describe(value)}; "
        f"for a fixed delay: backoff=lambda exception, task_result: {value!r}"
    )


def _bad_timeout(value: Any) -> str | None:
    if value is None or (_is_number(value) and value > 0):
        return None
    return f"timeout must be a number of seconds above 0, not {describe(value)}; leave it out for no limit"


def _bad_atomic(value: Any) -> str | None:
    return None if isinstance(value, bool) else f"atomic must be True or False, not {describe(value)}"


def _bad_key(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        return f"idempotency_key must be a str, not {describe(value)}; pass str(...) of it"
    if not 1 <= len(value) <= MAX_KEY_LENGTH:
        return (
            f"idempotency_key must have 1 to {MAX_KEY_LENGTH} characters, not {len(value)} "
            f"({describe(value)}); pass a digest of a longer one"
        )
    if not is_storable(value):
        return f"idempotency_key {describe(value)} has a character that PostgreSQL cannot store; remove it"
    return None


def _bad_run_after(value: Any) -> str | None:
    if value is None or isinstance(value, datetime):
        return None
    return f"run_after must be a datetime, not {describe(value)}; for a delay, timezone.now() + timedelta(…)"


def _is_number(value: Any) -> bool:
    # Not math.isfinite for integers: they may be too large for a float.
    return type(value) is not bool and (isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)))
