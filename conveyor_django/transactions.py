"""Conveyor's own transactions on a job's database: READ COMMITTED whatever the project's default, and nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import IsolationLevel
from psycopg.pq import TransactionStatus

from .errors import ForeignWrite

# What a statement to another database may begin with.
READING: Final = frozenset({"SELECT", "SHOW", "EXPLAIN", "PRAGMA", "SAVEPOINT", "RELEASE", "SET"})
# The first release that bounds a whole transaction.
HAS_TRANSACTION_TIMEOUT: Final = 170_000

# A project may have set a tighter bound for statements.
_BOUND_STATEMENTS: Final = """
SELECT CASE WHEN current_setting('statement_timeout')::interval NOT BETWEEN '1 ms' AND %s::interval
            THEN set_config('statement_timeout', %s, true) END
"""
_BOUND_ALL: Final = f"{_BOUND_STATEMENTS.rstrip()}, set_config('transaction_timeout', %s, true)"


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
    with _beginning(connection, timeout if not in_testcase else None), transaction.atomic(using=alias):
        if not in_testcase:
            _set_up(connection, timeout)
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
            _set_up(connection, None)
        yield


@contextmanager
def _beginning(connection: BaseDatabaseWrapper, timeout: float | None) -> Iterator[None]:
    """Have the driver name the level in its BEGIN, where a statement of ours follows that at once.

    A round trip less than SET TRANSACTION; without that statement, BEGIN would only be sent with the handler's first.
    """
    if timeout is None:
        yield
        return
    connection.ensure_connection()
    session = connection.connection
    before, session.isolation_level = session.isolation_level, IsolationLevel.READ_COMMITTED
    try:
        yield
    finally:
        # Of any other state nothing is left: whoever finds the session so closes it.
        if not session.closed and session.info.transaction_status == TransactionStatus.IDLE:
            session.isolation_level = before


def _set_up(connection: BaseDatabaseWrapper, timeout: float | None) -> None:
    """Say what holds for the open transaction; the first statement in it."""
    with connection.cursor() as cursor:
        if timeout is None:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            return
        bound = f"{max(1, int(timeout * 1000))}ms"
        if connection.pg_version >= HAS_TRANSACTION_TIMEOUT:  # type: ignore[attr-defined]
            cursor.execute(_BOUND_ALL, (bound, bound, bound))
        else:
            cursor.execute(_BOUND_STATEMENTS, (bound, bound))


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
