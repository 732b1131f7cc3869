"""Enqueue: everything is checked before the row exists; then one INSERT on the caller's connection (P4)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from django.db import connections, transaction

from . import counting, jsonrule
from .compat import InvalidTask
from .conf import ConveyorSettings, conveyor_settings
from .conflicts import Entry, Existing
from .errors import ForeignTransaction, InvalidArguments, PayloadTooLarge, UnknownTask, name_place
from .instants import in_utc
from .managers.jobs import Accepted, NewJob
from .notify import Ring
from .options import concurrency_key_of
from .registry import resolve_task
from .signatures import shape_of, signature_of
from .spans.send import send_one
from .states import JobState, OnConflict
from .store import store_one
from .tasks import ConveyorTask

if TYPE_CHECKING:
    from .compat import Task
    from .managers.jobs import JobManager


def prepare(
    task: Task[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    settings: ConveyorSettings | None = None,
) -> NewJob:
    """Return the validated job for a call of `task`; touches no database.

    Raises InvalidArguments (a ValueError) where the arguments do not fit the function or JSON,
    PayloadTooLarge, and InvalidTask where no worker could find the function again or no row hold `run_after`.
    """
    settings = settings or conveyor_settings()
    path = task.module_path
    _check_path(path)
    args_text, kwargs_text = call_texts(task, args, kwargs, settings)
    return NewJob(
        queue=task.queue_name,
        task=path,
        args=args_text,
        kwargs=kwargs_text,
        max_attempts=(task.max_attempts if isinstance(task, ConveyorTask) else None) or settings.max_attempts,
        priority=int(task.priority),
        run_at=_instant(path, task.run_after),
        idempotency_key=getattr(task, "idempotency_key", None),
        concurrency_key=concurrency_key_of(task, args, kwargs),
    )


def prepared(
    task: Task[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    place: str = "",
    settings: ConveyorSettings | None = None,
) -> Entry:
    """Return the call as it is to be stored; raises as `prepare` does, the message beginning with `place`."""
    try:
        job = prepare(task, args, kwargs, settings)
    except Exception as error:
        name_place(error, place)
        raise
    mode = getattr(task, "on_conflict", None)
    return Entry(job, on_conflict=OnConflict(mode) if mode else None, place=place)


def call_texts(
    task: Task[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    settings: ConveyorSettings | None = None,
) -> tuple[str, str]:
    """Return the arguments of a call of `task` as JSON text.

    Raises InvalidArguments where they do not fit the function or JSON, and PayloadTooLarge.
    """
    path = task.module_path
    _check_signature(task, args, kwargs)
    args_text, kwargs_text = _texts(path, args, kwargs)
    size = _bytes(args_text) + _bytes(kwargs_text)
    limit = (settings or conveyor_settings()).max_payload_bytes
    if size > limit:
        raise PayloadTooLarge(path, size, limit)
    return args_text, kwargs_text


def enqueue(
    task: Task[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], settings: ConveyorSettings
) -> Accepted | Existing:
    """Store a job for a call of `task`, in the caller's transaction if it has one on the queue's database.

    Raises what `prepare` raises; ForeignTransaction inside a transaction of another database;
    IdempotencyConflict where the key belongs to another job that may not answer for this one. Nothing of that
    leaves the transaction broken.
    """
    entry = prepared(task, args, kwargs, settings=settings)
    job = entry.job
    alias = settings.database_of(job.queue)
    check_transaction(job.task, alias)
    window = settings.notify_window_seconds
    ring = Ring.of(job.queue, alias=alias, window=window, for_later=job.run_at is not None)
    with (send := send_one(job, alias=alias, settings=settings)):
        stored = store_one(jobs_of(alias), send.marked(entry), ring.hint)
        send.has_stored(stored.id, existing=isinstance(stored, Existing))
    if isinstance(stored, Accepted):
        if counting.on_enqueued is not None:
            counting.on_enqueued(job.queue, job.task, 1)
        if stored.state == JobState.READY:
            ring.settle()
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


def stores_jobs(backend: object) -> bool:
    """Say whether a task backend is Conveyor's own, which stores jobs, and not one that stands in for it in tests."""
    return getattr(backend, "stores_jobs", False)


def _check_path(path: str) -> None:
    if path.startswith("__main__."):
        raise InvalidTask(
            f"{path} cannot be enqueued: what is __main__ here is another module in a worker. Move the function into a "
            f"module that workers can import, such as an app's tasks.py."
        )
    try:
        resolve_task(path)
    except UnknownTask as error:
        raise InvalidTask(
            f"{path} cannot be enqueued, since no worker could find it: {error.reason}. Decorate the "
            f"function with @task where it is defined, in a module that workers can import."
        ) from error


def _check_signature(task: Task[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    # Stands for the context, which the worker passes first.
    context = (None,) if task.takes_context else ()
    if shape_of(task.func).fits(len(context) + len(args), kwargs):
        return
    signature = signature_of(task.func)
    try:
        signature.bind(*context, *args, **kwargs)
    except TypeError as error:
        raise InvalidArguments(
            f"{task.module_path}{signature} cannot be called with these arguments: {error}."
        ) from error


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _texts(path: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[str, str]:
    """Return args and kwargs as JSON text."""
    try:
        return (
            jsonrule.dumps(jsonrule.normalize(args, "args")),
            jsonrule.dumps(jsonrule.normalize(kwargs, "kwargs")) if kwargs else "{}",
        )
    except InvalidArguments as error:
        raise InvalidArguments(f"{path}: {error}") from error


def _instant(path: str, run_after: dt.datetime | None) -> dt.datetime | None:
    """Return the earliest start as an aware instant. Raises InvalidTask where not every reader could hold it."""
    if run_after is None:
        return None
    # Naive is allowed with USE_TZ = False only.
    try:
        return in_utc(run_after)
    except ValueError as error:
        raise InvalidTask(
            f"{path}: run_after is {run_after.isoformat()}, but {error}; leave it out to run the job at once."
        ) from None


def check_transaction(task: str, alias: str) -> None:
    """Raise ForeignTransaction inside a transaction that is not on `alias` (P4)."""
    if len(connections.settings) == 1:
        return
    open_aliases = open_transactions()
    if open_aliases and alias not in open_aliases:
        raise ForeignTransaction(task, alias, open_aliases[0])


@cache
def jobs_of(alias: str) -> JobManager:
    """Return the statements on the jobs of database `alias`."""
    from .models import Job

    return Job.objects.db_manager(alias)
