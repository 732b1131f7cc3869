"""Atomic handlers: their writes, the ledger row and the transition commit together, or none does (P2)."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from django.db import Error as DjangoError
from django.db import connections, transaction

from ..errors import ForeignWrite, LeaseLost, LeftOpen
from ..log import event, get_logger
from ..models import Job
from ..outcomes import Answer, Committed
from ..retry import exponential_delay
from . import decide
from .inflight import Held

logger = get_logger("worker.atomic")

# What a statement to another database may begin with.
READING: Final = frozenset({"SELECT", "SHOW", "EXPLAIN", "PRAGMA", "SAVEPOINT", "RELEASE", "SET"})


class NotBegun(Exception):
    """The database did not let the transaction begin, so the handler was not called; its cause says why."""


def run_atomically(held: Held, call: Callable[[], Any], *, owner: uuid.UUID, alias: str) -> tuple[Committed, Any]:
    """Run `call` in a transaction that ends with the fenced success; return the outcome and its value.

    Raises LeaseLost if the lease is not this run's any more, UnstorableResult for a value that JSON cannot hold,
    NotBegun, LeftOpen, ForeignWrite, and what `call` raises; nothing is committed then. An exception after the commit
    (an on_commit hook of the handler's) is logged: the job has succeeded (rule 6).
    """
    claimed = held.claimed
    done: list[tuple[Committed, Any]] = []
    has_begun, has_committed = threading.Event(), threading.Event()
    try:
        with transaction.atomic(using=alias):
            _read_committed(alias)
            # Registered before the handler's own hooks, so it runs before any of them can raise.
            transaction.on_commit(has_committed.set, using=alias)
            has_begun.set()
            with writes_refused_elsewhere(alias, claimed.task):
                value = call()
            outcome = decide.committed(claimed, decide.result_text(claimed, value))
            _succeed(held, outcome, owner, alias)
            done.append((outcome, value))
        if not has_committed.is_set():
            raise LeftOpen(claimed.task)  # noqa: TRY301 - nothing to abstract
    except BaseException as error:
        if has_committed.is_set():
            event(
                logger, logging.ERROR, "job.hook_failed",
                job=claimed.id, version=claimed.version, task=claimed.task, error=repr(error), exc_info=error,
            )  # fmt: skip
        elif isinstance(error, DjangoError) and not has_begun.is_set():
            raise NotBegun from error
        else:
            # It was set in the hope of a commit.
            held.over = False
            raise
    return done[0]


@contextmanager
def writes_refused_elsewhere(alias: str, task: str) -> Iterator[None]:
    """Refuse writes to any other database of this thread: they would stay when this transaction rolls back."""

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.lstrip(" \t\n(").split(maxsplit=1)[0].upper() in READING:
            return execute(sql, params, many, context)
        raise ForeignWrite(task, alias, context["connection"].alias)

    with ExitStack() as stack:
        for other in connections:
            if other != alias:
                stack.enter_context(connections[other].execute_wrapper(refuse))
        yield


def _read_committed(alias: str) -> None:
    """Make the transaction READ COMMITTED whatever the project's default.

    Under a snapshot the fenced statement would fail with a serialization error instead of answering.
    """
    with connections[alias].cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")


def _succeed(held: Held, outcome: Committed, owner: uuid.UUID, alias: str) -> None:
    """Write the fenced success in the open transaction; wait out a row that somebody holds for a moment."""
    jobs = Job.objects.db_manager(alias)
    tries = 0
    while True:
        answer = jobs.succeed_jobs([outcome], owner=owner)[outcome.token]
        if answer is Answer.WON:
            # From here on the job's row says "not yours" because it is done: no heartbeat may read that as a loss.
            held.over = True
            return
        if answer is not Answer.BUSY or time.monotonic() >= held.deadline:
            raise LeaseLost(*outcome.token)
        tries += 1
        time.sleep(exponential_delay(tries, base=0.002, cap=0.1))
