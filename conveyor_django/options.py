"""The options that Conveyor adds to a task, and what each of them may be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from .compat import InvalidTask, TaskResult
from .conf import MAX_INTEGER, MAX_KEY_LENGTH, RESERVED_KEY_PREFIX
from .errors import InvalidArguments, describe
from .jsonrule import is_storable
from .retry import MAX_DELAY, Fixed, Policy, is_number
from .states import OnConflict

if TYPE_CHECKING:
    from .compat import Task
    from .tasks import ConveyorTask

# The framework's own bounds, and a CHECK's.
MIN_PRIORITY: Final = -100
MAX_PRIORITY: Final = 100

# Called with the exception and the run's result (whose `attempts` counts from 1); returns the delay of the
# next attempt in seconds or as a timedelta. The signature is that of the proposal for Django itself.
if TYPE_CHECKING:
    BackoffCallable = Callable[[BaseException, TaskResult[..., Any]], float | timedelta]
else:
    BackoffCallable = Callable[[BaseException, TaskResult], float | timedelta]
# A policy looks at the number of the attempt alone, which costs no query; a number is that many seconds each time.
Backoff = BackoffCallable | Policy | float | timedelta
# Of a task whose jobs share places: one key for all of its jobs, or a callable that takes a call's arguments.
ConcurrencyKey = str | Callable[..., str | None]
# As isinstance takes it.
Exceptions = type[BaseException] | tuple[type[BaseException], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions:
    """The options that a worker needs of a task."""

    max_attempts: int | None = None
    backoff: Backoff | None = None
    timeout: float | None = None
    atomic: bool = False
    grouped: bool = True
    retry_on: Exceptions | None = None
    discard_on: Exceptions | None = None

    @property
    def policy(self) -> Policy | None:
        """The backoff, where it is a policy or a number."""
        if isinstance(self.backoff, timedelta):
            return Fixed(self.backoff.total_seconds())
        if isinstance(self.backoff, (int, float)):
            return Fixed(self.backoff)
        return self.backoff if isinstance(self.backoff, Policy) else None

    @property
    def backoff_callable(self) -> BackoffCallable | None:
        """The backoff, where it is a callable, which needs the run's result."""
        if self.backoff is None or self.policy is not None:
            return None
        return cast("BackoffCallable", self.backoff)


def check_options(task: ConveyorTask[..., Any], changed: Collection[str] | None = None) -> None:
    """Refuse what no worker could honour: all options of a task, or those named `changed` of one like another.

    Raises InvalidTask with the task, the value and the fix.
    """
    for name in _COMPLAINTS if changed is None else changed:
        if (complain := _COMPLAINTS.get(name)) and (complaint := complain(task)):
            raise InvalidTask(f"{task.module_path}: {complaint}.")


def _bad_priority(value: Any) -> str | None:
    if is_number(value) and value == int(value) and MIN_PRIORITY <= value <= MAX_PRIORITY:
        return None
    return f"priority must be a whole number from {MIN_PRIORITY} to {MAX_PRIORITY}, not {describe(value)}"


def _bad_max_attempts(value: Any) -> str | None:
    if value is None or (is_number(value) and value == int(value) and 1 <= value <= MAX_INTEGER):
        return None
    return (
        f"max_attempts must be a whole number of at least 1, not {describe(value)}; "
        f"leave it out for CONVEYOR['MAX_ATTEMPTS']"
    )


def _bad_backoff(value: Any) -> str | None:
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if is_number(seconds):
        return (
            None
            if 0 <= seconds <= MAX_DELAY
            else f"backoff must be from 0 to {MAX_DELAY:.0f} seconds, not {describe(value)}"
        )
    if isinstance(value, type) and issubclass(value, Policy):
        return f"backoff must be a policy, not its class: {value.__name__}(…)"
    if value is None or isinstance(value, Policy) or callable(value):
        return None
    return (
        f"backoff must be a policy such as Exponential(base=2), a number of seconds, or a callable, "
        f"backoff(exception, task_result), not {describe(value)}"
    )


def _bad_timeout(value: Any) -> str | None:
    if value is None or (is_number(value) and 0 < value <= MAX_DELAY):
        return None
    return (
        f"timeout must be a number of seconds above 0 and at most {MAX_DELAY:.0f}, not {describe(value)}; "
        f"leave it out for no limit"
    )


def _bad_flag(name: str, value: Any) -> str | None:
    return None if isinstance(value, bool) else f"{name} must be True or False, not {describe(value)}"


def _bad_exceptions(name: str, value: Any) -> str | None:
    classes = value if isinstance(value, tuple) else (value,)
    if value is None or all(isinstance(each, type) and issubclass(each, BaseException) for each in classes):
        return None
    return f"{name} must be an exception class or a tuple of them, not {describe(value)}"


def concurrency_key_of(task: Task[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """Return the concurrency key of a call of `task`.

    Raises InvalidTask where its callable returns no key, InvalidArguments where it raises.
    """
    key = getattr(task, "concurrency_key", None)
    if not callable(key):
        return cast("str | None", key)
    try:
        given = key(*args, **kwargs)
    except Exception as error:
        raise InvalidArguments(
            f"{task.module_path}: its concurrency_key callable raised {describe(error)} for these arguments. Correct "
            f"it or them; it may return None for a job without a key."
        ) from error
    if complaint := _bad_text("concurrency_key", given):
        raise InvalidTask(f"{task.module_path}: {complaint}.")
    return cast("str | None", given)


def _bad_key(value: Any) -> str | None:
    if isinstance(value, str) and value.startswith(RESERVED_KEY_PREFIX):
        return (
            f"idempotency_key {describe(value)} begins with {RESERVED_KEY_PREFIX!r}, which is kept for "
            f"Conveyor's own; begin it with something else"
        )
    return _bad_text("idempotency_key", value)


def _bad_text(name: str, value: Any) -> str | None:
    """Return what is wrong with a key, whichever it is."""
    if value is None:
        return None
    if not isinstance(value, str):
        return f"{name} must be a str, not {describe(value)}; pass str(...) of it"
    if not 1 <= len(value) <= MAX_KEY_LENGTH:
        return (
            f"{name} must have 1 to {MAX_KEY_LENGTH} characters, not {len(value)} "
            f"({describe(value)}); pass a digest of a longer one"
        )
    if not is_storable(value):
        return f"{name} {describe(value)} has a character that PostgreSQL cannot store; remove it"
    return None


def _bad_on_conflict(value: Any, key: str | None) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in set(OnConflict):
        return f"on_conflict must be one of {', '.join(map(repr, map(str, OnConflict)))}, not {describe(value)}"
    if key is None:
        return f"on_conflict={str(value)!r} says nothing without an idempotency_key; give both in one .using(...)"
    return None


def _bad_run_after(value: Any) -> str | None:
    if value is None or isinstance(value, datetime):
        return None
    return f"run_after must be a datetime, not {describe(value)}; for a delay, timezone.now() + timedelta(…)"


# What is wrong with an option of a task, as the end of a sentence; in the order in which they are looked at.
_COMPLAINTS: Final[Mapping[str, Callable[[ConveyorTask[..., Any]], str | None]]] = {
    "priority": lambda task: _bad_priority(task.priority),
    "max_attempts": lambda task: _bad_max_attempts(task.max_attempts),
    "backoff": lambda task: _bad_backoff(task.backoff),
    "timeout": lambda task: _bad_timeout(task.timeout),
    "atomic": lambda task: _bad_flag("atomic", task.atomic),
    "grouped": lambda task: _bad_flag("grouped", task.grouped),
    "retry_on": lambda task: _bad_exceptions("retry_on", task.retry_on),
    "discard_on": lambda task: _bad_exceptions("discard_on", task.discard_on),
    "http": lambda task: _bad_flag("http", task.http),
    "idempotency_key": lambda task: _bad_key(task.idempotency_key),
    "concurrency_key": lambda task: (
        None if callable(task.concurrency_key) else _bad_text("concurrency_key", task.concurrency_key)
    ),
    "on_conflict": lambda task: _bad_on_conflict(task.on_conflict, task.idempotency_key),
    "run_after": lambda task: _bad_run_after(task.run_after),
}
