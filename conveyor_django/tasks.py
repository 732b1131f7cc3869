"""The task: the framework's, with Conveyor's options; and the decorator that makes one."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, Literal, ParamSpec, TypeVar, overload

from asgiref.sync import sync_to_async

from .calls import Call
from .compat import Task, task_backends
from .errors import InvalidArguments, describe
from .options import Backoff, ConcurrencyKey, Exceptions, TaskOptions, check_options
from .registry import offer, resolve_task

if TYPE_CHECKING:
    from typing import Self, TypedDict, Unpack

    from .compat import TaskResult
    from .context import ConveyorContext

    class Options(TypedDict, total=False):
        """What the decorator takes, `takes_context` aside."""

        priority: int
        queue_name: str
        backend: str
        max_attempts: int | None
        backoff: Backoff | None
        timeout: float | None
        atomic: bool
        grouped: bool
        retry_on: Exceptions | None
        discard_on: Exceptions | None
        concurrency_key: ConcurrencyKey | None
        http: bool


__all__ = ["Backoff", "ConveyorTask", "TaskOptions", "options_of", "resolve_task", "task"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
# The values of states.OnConflict, as a caller writes them.
Conflict = Literal["keep", "error", "replace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConveyorTask(Task, Generic[P, R]):  # type: ignore[type-arg]  # Generic in the backport and the stubs alone
    """A task with Conveyor's options; plain code sees the framework's Task."""

    # Runs that may fail before the job does; None: CONVEYOR["MAX_ATTEMPTS"].
    max_attempts: int | None = None
    # How long to wait after a failed run: a policy (Exponential, Linear, Fixed), seconds, or a callable of exception
    # and result. None: exponential, by CONVEYOR["BACKOFF_BASE_SECONDS"] and CONVEYOR["BACKOFF_CAP_SECONDS"].
    backoff: Backoff | None = None
    # Seconds that one run may take; None: no limit.
    timeout: float | None = None
    # Whether the handler's writes, the ledger row and the success are one commit.
    atomic: bool = False
    # Whether small runs of an atomic task may share a transaction, a savepoint each.
    grouped: bool = True
    # Exception classes: only these are tried again, any other fails the job at once. None: every one is tried again.
    retry_on: Exceptions | None = None
    # Exception classes that end the job as cancelled, at once; looked at first.
    discard_on: Exceptions | None = None
    # At most the queue's `key_cap` jobs of one key run at once, one unless set.
    concurrency_key: ConcurrencyKey | None = None
    # Whether the HTTP API may enqueue it.
    http: bool = False
    # Set by using() alone: it names one piece of work.
    idempotency_key: str | None = None
    # Set by using() alone, with a key: what becomes of an enqueue whose key is taken.
    on_conflict: Conflict | None = None

    def __post_init__(self) -> None:
        """Refuse what no worker could honour. Raises InvalidTask with the value and the fix."""
        check_options(self)
        # By name: the zero-argument super() does not know the class that slots=True makes.
        Task.__post_init__(self)
        if self.http:
            offer(self.module_path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by path, as functions are, with what using() changed. Raises UnknownTask."""
        declared = resolve_task(self.module_path)
        changes = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name != "func" and getattr(self, f.name) != getattr(declared, f.name, None)
        }
        return (_unpickled, (self.module_path, changes))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return itself: nothing in it changes."""
        return self

    def using(
        self,
        *,
        priority: int | None = None,
        queue_name: str | None = None,
        run_after: datetime | None = None,
        backend: str | None = None,
        idempotency_key: str | None = None,
        on_conflict: Conflict | None = None,
        concurrency_key: str | None = None,
        max_attempts: int | None = None,
    ) -> Self:
        """Return a copy with these in place of its own; what is left out stays.

        `idempotency_key` makes a repeated enqueue harmless: while a job of that key is in the queue's table,
        the same arguments give that job back, and others raise IdempotencyConflict. `on_conflict` changes that:
        "keep" gives that job back whatever its arguments, "error" raises in any case, and "replace" gives this
        one the key: a job that waited is cancelled, one that has ended goes without, for one that runs it raises.

        Of jobs with one `concurrency_key` only so many run at once, in their queue, as its cap per key says: one.
        """
        given = {
            "priority": priority, "queue_name": queue_name, "run_after": run_after, "backend": backend,
            "idempotency_key": idempotency_key, "on_conflict": on_conflict, "concurrency_key": concurrency_key,
            "max_attempts": max_attempts,
        }  # fmt: skip
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        # Of a class of the project's own nobody knows what its making involves.
        return _changed(self, changes) if type(self) is ConveyorTask else replace(self, **changes)

    if TYPE_CHECKING:

        def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> TaskResult[P, R]:
            """Store a job for this call; inside a transaction of the queue's database, as a part of it."""

        async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> TaskResult[P, R]:
            """As `enqueue`, for async code."""

    def enqueue_many(self, arguments: Iterable[tuple[Any, ...]]) -> list[TaskResult[P, R]]:
        """Store a job for each tuple of positional arguments: all, or none; return the results in that order.

        For keyword arguments, or options that differ, pass ``task.bind(...)`` to `conveyor_django.enqueue_many`.
        Raises as that does.
        """
        from .bulk import enqueue_many

        return enqueue_many(Call(self, args, {}) for args in map(_positional, count(), arguments))

    async def aenqueue_many(self, arguments: Iterable[tuple[Any, ...]]) -> list[TaskResult[P, R]]:
        """As `enqueue_many`, for async code."""
        return await sync_to_async(self.enqueue_many)(arguments)

    def bind(self, *args: P.args, **kwargs: P.kwargs) -> Call[P, R]:
        """Return this call without making it: for `enqueue_many`, or as a part of a workflow."""
        return Call(self, args, kwargs)

    def enqueue_on_commit(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Enqueue once every transaction that is open now has committed; without one, at once.

        The task and its arguments are checked, and copied, now. For a queue in another database than the
        caller's transaction: nothing ties the two, so a crash between the commit and the enqueue loses the
        job. Where both are in one database, `enqueue` inside the transaction is better.
        """
        from .enqueue import after_commits, prepare

        self.get_backend().validate_task(self)
        job = prepare(self, args, kwargs)
        after_commits(lambda: self.enqueue(*json.loads(job.args), **json.loads(job.kwargs)))


_OPTION_NAMES: Final = tuple(f.name for f in fields(TaskOptions))
_FRAMEWORK_NAMES: Final = ("priority", "queue_name", "backend", "takes_context")
_ENQUEUE_NAMES: Final = ("concurrency_key", "http")
_PER_CALL: Final = ("run_after", "idempotency_key", "on_conflict")


def _positional(place: int, arguments: Any) -> tuple[Any, ...]:
    if isinstance(arguments, tuple):
        return arguments
    raise InvalidArguments(
        f"calls[{place}] is {describe(arguments)}, not a tuple of positional arguments: write "
        f"({describe(arguments)},), or pass task.bind(...) to conveyor_django.enqueue_many."
    )


_FIELD_NAMES: Final = tuple(f.name for f in fields(ConveyorTask))
_field_values: Final = attrgetter(*_FIELD_NAMES)
# Those that the framework's own checks look at.
_FRAMEWORKS: Final = frozenset(f.name for f in fields(Task))
_set: Final = object.__setattr__


def _changed(task: T, changes: dict[str, Any]) -> T:
    """Do as `dataclasses.replace`, and check what changed alone: this runs at each enqueue that has a key."""
    copy = object.__new__(type(task))
    for name, value in zip(_FIELD_NAMES, _field_values(task), strict=True):
        _set(copy, name, value)
    for name, value in changes.items():
        _set(copy, name, value)
    check_options(copy, changes)  # type: ignore[arg-type]
    if not _FRAMEWORKS.isdisjoint(changes):
        Task.__post_init__(copy)  # type: ignore[arg-type]
    return copy


def _unpickled(path: str, changes: dict[str, Any]) -> Task[..., Any]:
    return replace(resolve_task(path), **changes)


def options_of(task: Task[..., Any]) -> TaskOptions:
    """Return the options of any task of the framework; the defaults where it is not Conveyor's."""
    if isinstance(task, ConveyorTask):
        return TaskOptions(**{name: getattr(task, name) for name in _OPTION_NAMES})
    return TaskOptions()


@overload
def task(function: Callable[P, R], /) -> ConveyorTask[P, R]: ...
@overload
def task(
    *, takes_context: Literal[True], **options: Unpack[Options]
) -> Callable[[Callable[Concatenate[ConveyorContext, P], R]], ConveyorTask[P, R]]: ...
@overload
def task(
    *, takes_context: Literal[False] = False, **options: Unpack[Options]
) -> Callable[[Callable[P, R]], ConveyorTask[P, R]]: ...
def task(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a module-level function a task: ``@task`` or ``@task(max_attempts=3, atomic=True, …)``.

    The options are those of Django's decorator (`priority`, `queue_name`, `backend`, `takes_context`) and
    `max_attempts`, `backoff`, `timeout`, `atomic`, `grouped`, `retry_on`, `discard_on`, `concurrency_key` and `http`. A
    backend that is not Conveyor's gets only those that its task class has. Raises TypeError for an unknown name and
    InvalidTask for an impossible value.
    """
    _check_names(options)

    def decorate(func: Callable[..., Any]) -> Any:
        backend = options.get("backend", "default")
        task_class = task_backends[backend].task_class
        accepted = {f.name for f in fields(task_class)}
        own = {name: value for name, value in options.items() if name in accepted}
        # Before 6.1 most fields of the framework's class have no defaults.
        defaults: dict[str, Any] = {
            "priority": 0, "queue_name": "default", "backend": "default", "takes_context": False,
            "run_after": None,
        }  # fmt: skip
        return task_class(func=func, **defaults | own)

    return decorate if function is None else decorate(function)


def _check_names(options: dict[str, Any]) -> None:
    known = _FRAMEWORK_NAMES + _OPTION_NAMES + _ENQUEUE_NAMES
    for name in options:
        if name in _PER_CALL:
            raise TypeError(
                f"task() takes no {name}: it belongs to one enqueue, not to the function. "
                f"Use .using({name}=...).enqueue(...)."
            )
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Known options: {', '.join(known)}."
            raise TypeError(f"task() got an unknown option {name!r}. {hint}")
