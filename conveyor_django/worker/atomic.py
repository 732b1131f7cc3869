"""Atomic handlers: their writes, the ledger row and the transition commit together, or none does (P2)."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from django.db import connections, transaction

from ..errors import LeaseLost
from ..log import event, get_logger
from ..models import Job
from ..outcomes import Answer, Committed
from ..retry import exponential_delay
from . import decide
from .inflight import Held

logger = get_logger("worker.atomic")


def run_atomically(held: Held, call: Callable[[], Any], *, owner: uuid.UUID, alias: str) -> tuple[Committed, Any]:
    """Run `call` in a transaction that ends with the fenced success; return the outcome and its value.

    Raises LeaseLost if the lease is not this run's any more, UnstorableResult for a value that JSON cannot hold,
    and what `call` raises; nothing is committed then. An exception after the commit (an on_commit hook of the
    handler's) is logged: the job has succeeded (rule 6).
    """
    claimed = held.claimed
    done: list[tuple[Committed, Any]] = []
    has_committed = threading.Event()
    try:
        with transaction.atomic(using=alias):
            _read_committed(alias)
            # Registered before the handler's own hooks, so it runs before any of them can raise.
            transaction.on_commit(has_committed.set, using=alias)
            value = call()
            result = decide.result_text(claimed, value)
            outcome = decide.committed(claimed, result)
            _succeed(held, outcome, owner, alias)
            done.append((outcome, value))
    except BaseException as error:
        if not has_committed.is_set():
            raise
        event(
            logger, logging.ERROR, "job.hook_failed",
            job=claimed.id, version=claimed.version, task=claimed.task, error=repr(error), exc_info=error,
        )  # fmt: skip
    return done[0]


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
