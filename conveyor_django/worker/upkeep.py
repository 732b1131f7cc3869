"""Keeping the Django connections of an executor's threads: reconnecting for each job costs more than most jobs."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from typing import Any, Final

from django.db import connections
from psycopg.pq import TransactionStatus

# A connection that rested this long is asked before it is used again.
IDLE_CHECK_SECONDS: Final = 5.0


class ConnectionUpkeep:
    """Looks after the connections of the one thread that it is used in, around each job."""

    def __init__(self) -> None:
        self._used_at = time.monotonic()
        # Django's connections of that thread, found at the first use: to ask for them costs more than a small job.
        self._wrappers: Sequence[Any] | None = None

    def before(self) -> None:
        """Close connections that were cut, so that no handler fails for it: asked after a rest, else only looked at."""
        rested = time.monotonic() - self._used_at > IDLE_CHECK_SECONDS
        for connection in self._open_connections():
            if connection.in_atomic_block or not (rested or _has_something_to_say(connection)):
                continue
            if not connection.is_usable():
                close(connection)

    def after(self) -> list[str]:
        """Close what a handler left in an error or in a transaction; return the aliases left in one."""
        left_open = []
        for connection in self._open_connections():
            if not is_at_rest(connection):
                left_open.append(connection.alias)
                close(connection)
            elif connection.errors_occurred:
                close(connection)
        self._used_at = time.monotonic()
        return left_open

    def _open_connections(self) -> list[Any]:
        if self._wrappers is None:
            self._wrappers = connections.all()
        return [wrapper for wrapper in self._wrappers if wrapper.connection is not None]


def is_at_rest(connection: Any) -> bool:
    """Say whether nothing is left open: no transaction, and no statement that an interrupt cut short."""
    info = getattr(connection.connection, "info", None)
    idle = info is None or info.transaction_status == TransactionStatus.IDLE
    return idle and not connection.in_atomic_block and bool(connection.get_autocommit())


def _has_something_to_say(connection: Any) -> bool:
    """Say whether there is something to read: an idle server says nothing, save that it is going away."""
    pgconn = getattr(connection.connection, "pgconn", None)
    if pgconn is None or connection.connection.closed:
        return True
    poll = select.poll()
    poll.register(pgconn.socket, select.POLLIN)
    return bool(poll.poll(0))


def close(connection: Any) -> None:
    """Close Django's connection, whatever a handler or hook has left on it."""
    # A handler that was stopped inside an atomic block leaves its marks, and Django would refuse the close.
    connection.in_atomic_block = False
    connection.savepoint_ids.clear()
    connection.needs_rollback = False
    connection.close()
