"""Conveyor's own transactions on a job's database: READ COMMITTED whatever the project's default, and nowhere else."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.pq import TransactionStatus

from .errors import ForeignWrite, TransactionGone
from .pipeline import Request
from .preparing import run_command, run_prepared
from .sql import statement

# What a statement to another database may begin with.
READING: Final = frozenset({"SELECT", "SHOW", "EXPLAIN", "PRAGMA", "SAVEPOINT", "RELEASE", "SET"})
# What ends a transaction; ROLLBACK TO goes back to a savepoint only.
_ENDS: Final = re.compile(
    r"\s*(COMMIT|END|ABORT|ROLLBACK(?!\s+((WORK|TRANSACTION)\s+)?TO\b)|PREPARE\s+TRANSACTION)\b", re.IGNORECASE
)
# Before each run of a group; of several with one name the last one counts.
SAVEPOINT: Final = "conveyor_run"


@dataclass(slots=True)
class Commit:
    """Whether a transaction has committed."""

    done: bool = False

    def __call__(self) -> None:
        """Note that it has."""
        self.done = True


@contextmanager
def read_committed(alias: str, *, timeout: float | None = None) -> Iterator[Commit]:
    """Open a transaction at READ COMMITTED on `alias`, whose statements, and as a whole, end within `timeout` seconds.

    Under a snapshot a fenced statement would fail with a serialization error instead of answering. Inside the
    transaction that Django's TestCase has around a test it is a part of that one, and settings are left alone.
    """
    connection = connections[alias]
    commit = Commit()
    in_testcase = _in_testcase(connection)
    with transaction.atomic(using=alias):
        if not in_testcase:
            _begin(connection, timeout)
        # Registered before any other hook, so that it runs before one of them can raise.
        transaction.on_commit(commit, using=alias)
        yield commit
    if in_testcase:
        commit()


@contextmanager
def joined(alias: str) -> Iterator[None]:
    """Join the caller's transaction on `alias`, whatever its isolation; where none is open, have one of READ COMMITTED.

    For statements that wait for a lock and then have to see what was committed meanwhile.
    """
    connection = connections[alias]
    is_own = not is_open(alias) and not _in_testcase(connection)
    with transaction.atomic(using=alias):
        if is_own:
            _begin(connection, None)
        yield


def _begin(connection: BaseDatabaseWrapper, timeout: float | None) -> None:
    """Begin, and have the server bound what is begun."""
    begin: Request = ("session/begin", {})
    bounds: list[Request] = []
    if timeout is not None:
        bounds.append(("session/bound_transaction", {"bound": f"{max(1, int(timeout * 1000))}ms"}))
    if run_prepared(connection, [begin, *bounds]) is not None:
        return
    with connection.cursor() as cursor:
        # The driver has sent the BEGIN before it.
        cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        for name, params in bounds:
            cursor.execute(statement(name), params)


def set_savepoint(connection: BaseDatabaseWrapper) -> None:
    """Set SAVEPOINT in the open transaction."""
    run_command(connection, f"SAVEPOINT {SAVEPOINT}")


def is_open(alias: str) -> bool:
    """Say whether this thread has a transaction open on `alias`; that of Django's TestCase does not count."""
    connection = connections[alias]
    if connection.in_atomic_block:
        return not _in_testcase(connection)
    return not connection.get_autocommit()


def on_event_loop() -> bool:
    """Say whether this thread runs an event loop just now, where Django's ORM refuses to work."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def refuse_if_gone(alias: str, task: str) -> None:
    """Raise TransactionGone where the transaction that Django has open on `alias` is there no longer."""
    connection = connections[alias]
    # By Django's close(); one that is opened anew is in no block.
    if connection.closed_in_transaction or not connection.in_atomic_block:
        raise TransactionGone(task, "has closed its connection")
    if connection.connection.info.transaction_status == TransactionStatus.IDLE:
        raise TransactionGone(task, "has ended its transaction")


@contextmanager
def kept_whole(alias: str, task: str) -> Iterator[None]:
    """Refuse what would end the open transaction of this thread on `alias`, or stay when it rolls back.

    That is a raw COMMIT or ROLLBACK, and a write to any other database.
    """

    def refuse_end(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if isinstance(sql, str) and _ENDS.match(sql):
            raise TransactionGone(task, f"was about to execute {sql.strip()!r}")
        return execute(sql, params, many, context)

    with connections[alias].execute_wrapper(refuse_end), writes_refused_elsewhere(alias, task):
        yield


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


def _in_testcase(connection: Any) -> bool:
    """Say whether the innermost open block is that of Django's TestCase."""
    blocks = connection.atomic_blocks
    return bool(blocks) and bool(blocks[-1]._from_testcase)  # noqa: SLF001 - as Django's own durable blocks look
