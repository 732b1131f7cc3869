"""Enqueue: everything is checked before the row exists; then one INSERT on the caller's connection (P4)."""

from __future__ import annotations

import datetime as dt
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from django.db import connections, transaction
from django.utils import timezone

from . import jsonrule
from .compat import InvalidTask
from .conf import conveyor_settings
from .errors import (
    ConveyorError,
    ForeignTransaction,
    IdempotencyConflict,
    InvalidArguments,
    PayloadTooLarge,
    UnknownTask,
    describe,
)
from .managers.jobs import Accepted, NewJob
from .notify import notify_on_commit
from .registry import resolve_task
from .states import JobState
from .tasks import options_of

if TYPE_CHECKING:
    from .compat import Task
    from .managers.jobs import JobManager

# A key that was taken at the insert and is free at the look behind it was pruned between: not often in a row.
KEY_TRIES: Final = 5
# Characters of a call in an error message.
MAX_SHOWN: Final = 120


@dataclass(frozen=True, slots=True)
class Existing:
    """The job that already holds the key, with the same task and arguments."""

    id: int


def prepare(task: Task[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> NewJob:
    """Return the validated job for a call of `task`; touches no database.

    Raises InvalidArguments (a ValueError) where the arguments do not fit the function or JSON,
    PayloadTooLarge, and InvalidTask where no worker could find the function again or no row hold `run_after`.
    """
    settings = conveyor_settings()
    path = task.module_path
    _check_path(path)
    _check_signature(task, args, kwargs)
    args_text, kwargs_text = _texts(path, args, kwargs)
    size = len(args_text.encode()) + len(kwargs_text.encode())
    if size > settings.max_payload_bytes:
        raise PayloadTooLarge(path, size, settings.max_payload_bytes)
    return NewJob(
        queue=task.queue_name,
        task=path,
        args=args_text,
        kwargs=kwargs_text,
        max_attempts=options_of(task).max_attempts or settings.max_attempts,
        priority=int(task.priority),
        run_at=_instant(path, task.run_after),
        idempotency_key=getattr(task, "idempotency_key", None),
    )


def enqueue(task: Task[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Accepted | Existing:
    """Store a job for a call of `task`, in the caller's transaction if it has one on the queue's database.

    Raises what `prepare` raises; ForeignTransaction inside a transaction of another database;
    IdempotencyConflict where the key belongs to other work. Nothing of that leaves the transaction broken.
    """
    job = prepare(task, args, kwargs)
    alias = conveyor_settings().database
    _check_transaction(job.task, alias)
    stored = _store(_jobs(alias), job)
    if isinstance(stored, Accepted) and stored.state == JobState.READY:
        notify_on_commit([job.queue], alias=alias)
    return stored


def after_commits(call: Callable[[], Any]) -> None:
    """Call once every transaction that is open in this thread has committed; at once where none is.

    One that rolls back takes the call with it.
    """
    waiting = set(open_transactions())
    if not waiting:
        call()

    def committed(alias: str) -> None:
        waiting.discard(alias)
        if not waiting:
            call()

    for alias in sorted(waiting):
        transaction.on_commit(partial(committed, alias), using=alias)


def open_transactions() -> list[str]:
    """Return the aliases on which this thread has a transaction open."""
    return [
        connection.alias
        for connection in connections.all(initialized_only=True)
        # The second is a transaction by hand, after set_autocommit(False).
        if connection.in_atomic_block or (connection.connection is not None and not connection.autocommit)
    ]


def _store(jobs: JobManager, job: NewJob) -> Accepted | Existing:
    """Insert the job, or find the one that holds its key (rule 9)."""
    for _ in range(KEY_TRIES):
        accepted = jobs.enqueue_job(job)
        if accepted is not None:
            return accepted
        # A statement of its own: the insert's snapshot may be older than the commit that it waited for.
        holder = jobs.find_job_by_key(queue=job.queue, idempotency_key=job.idempotency_key or "")
        if holder is not None:
            return _same_work(job, *holder)
    raise ConveyorError(
        f"{job.task} was not enqueued: the job that held the key {job.idempotency_key!r} of queue "
        f"{job.queue!r} vanished {KEY_TRIES} times before it could be read. Enqueue again."
    )


def _same_work(job: NewJob, holder_id: int, task: str, args: str, kwargs: str) -> Existing:
    """Return the holder of the job's key, or raise IdempotencyConflict where it is other work."""
    if (task, _comparable(args), _comparable(kwargs)) == (
        job.task, _comparable(job.args), _comparable(job.kwargs),
    ):  # fmt: skip
        return Existing(holder_id)
    raise IdempotencyConflict(
        job.idempotency_key or "",
        job.queue,
        existing=f"job {holder_id}, {_call(task, args, kwargs)}",
        refused=_call(job.task, job.args, job.kwargs),
    )


def _comparable(text: str) -> Any:
    """Parse JSON so that equal numbers are equal however jsonb writes them, and none equals true or false."""

    def number(digits: str) -> tuple[Decimal]:
        return (Decimal(digits),)

    return json.loads(text, parse_int=number, parse_float=number)


def _call(task: str, args: str, kwargs: str) -> str:
    """Return a stored call as a person would write it, shortened."""
    values = [_short(value) for value in json.loads(args)]
    named = [f"{name}={_short(value)}" for name, value in json.loads(kwargs).items()]
    shown = ", ".join([*values, *named])
    return f"{task}({shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + '…'})"


def _short(value: Any) -> str:
    return describe(value, limit=40)


def _check_path(path: str) -> None:
    try:
        resolve_task(path)
    except UnknownTask as error:
        raise InvalidTask(
            f"{path} cannot be enqueued, since no worker could find it: {error.reason}. Decorate the "
            f"function with @task where it is defined, in a module that workers can import."
        ) from error


def _check_signature(task: Task[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    signature = _signature(task.func)
    # Stands for the context, which the worker passes first.
    context = (None,) if task.takes_context else ()
    try:
        signature.bind(*context, *args, **kwargs)
    except TypeError as error:
        raise InvalidArguments(
            f"{task.module_path}{signature} cannot be called with these arguments: {error}."
        ) from error


_signature = lru_cache(maxsize=1024)(inspect.signature)


def _texts(path: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[str, str]:
    """Return args and kwargs as JSON text."""
    try:
        return (
            jsonrule.dumps(jsonrule.normalize(args, "args")),
            jsonrule.dumps(jsonrule.normalize(kwargs, "kwargs")),
        )
    except InvalidArguments as error:
        raise InvalidArguments(f"{path}: {error}") from error


def _instant(path: str, run_after: dt.datetime | None) -> dt.datetime | None:
    """Return the earliest start as an aware instant. Raises InvalidTask where not every reader could hold it."""
    if run_after is None:
        return None
    instant = run_after
    try:
        # Naive is allowed with USE_TZ = False only, and means the project's time zone, as in its models.
        if timezone.is_naive(instant):
            instant = timezone.make_aware(instant, timezone.get_default_timezone())
        year = instant.astimezone(dt.UTC).year
    except OverflowError:
        year = None
    # A session's time zone may lie up to a day off UTC, and Python's years end at 1 and 9999.
    if year is None or not dt.MINYEAR < year < dt.MAXYEAR:
        raise InvalidTask(
            f"{path}: run_after is {run_after.isoformat()}, but it must be an instant of the years "
            f"{dt.MINYEAR + 1} to {dt.MAXYEAR - 1} in UTC; leave it out to run the job at once."
        )
    return instant


def _check_transaction(task: str, alias: str) -> None:
    open_aliases = open_transactions()
    if open_aliases and alias not in open_aliases:
        raise ForeignTransaction(task, alias, open_aliases[0])


def _jobs(alias: str) -> JobManager:
    from .models import Job

    return Job.objects.db_manager(alias)
