"""The dedicated psycopg connections of workers and schedulers, and how they come back after an outage."""

from __future__ import annotations

import logging
import threading
from typing import Any

import psycopg
from django.db import connections
from psycopg import sql
from psycopg.pq import TransactionStatus

from .errors import DatabaseUnsupported
from .log import event, get_logger
from .loops import Loop
from .retry import reconnect_delays

Connection = psycopg.Connection[tuple[Any, ...]]

logger = get_logger("db")

# Plans must not depend on statistics: on a table that grows from nothing they are always old. Every statement on
# the hot path has one good plan, by index and nested loop; these leave the planner no other.
_SESSION = """
SET default_transaction_isolation = 'read committed';
SET plan_cache_mode = force_generic_plan;
SET jit = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET idle_in_transaction_session_timeout = {idle_ms}
"""

# SQLSTATE classes of errors that pass: connection, rollback, resources, object in use, operator, system; and a
# session or transaction that was cut off, or found itself on a standby.
_TRANSIENT_CLASSES = {"08", "40", "53", "55", "57", "58"}
_TRANSIENT_STATES = {"25P03", "25P04", "25006", "0A000"}


def is_transient(error: BaseException) -> bool:
    """Say whether the same statement may succeed later, perhaps on a new connection."""
    if not isinstance(error, psycopg.Error):
        return False
    state = error.sqlstate
    if state is None:  # The connection failed before the server could say why.
        return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return state[:2] in _TRANSIENT_CLASSES or state in _TRANSIENT_STATES


def connect(alias: str, application_name: str, *, lease_seconds: float) -> Connection:
    """Open a dedicated connection to Django's database `alias`: autocommit, prepared, with pinned plans.

    `lease_seconds` bounds what a frozen peer can hold: an idle transaction and an unanswered TCP segment
    end within it (rule 7). Raises DatabaseUnsupported, or psycopg.OperationalError if it cannot connect.
    """
    wrapper = connections[alias]
    if wrapper.vendor != "postgresql":
        raise DatabaseUnsupported(alias, f"a {wrapper.display_name} database")
    params = wrapper.get_connection_params()
    for django_only in ("cursor_factory", "context", "prepare_threshold"):
        params.pop(django_only, None)
    milliseconds = max(1000, int(lease_seconds * 1000))
    defaults = {
        "connect_timeout": 10, "keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 2,
        "keepalives_count": 3, "tcp_user_timeout": milliseconds,
    }  # fmt: skip
    params = defaults | params | {"application_name": application_name}
    connection: Connection = psycopg.connect(**params, autocommit=True, prepare_threshold=0)
    try:
        if role := wrapper.settings_dict["OPTIONS"].get("assume_role"):
            # As Django does on its own connections, with or without a pooler.
            connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)), prepare=False)
        if is_pooled(connection):
            # Neither session settings nor prepared statements belong to us behind a pooler.
            connection.prepare_threshold = None
        else:
            connection.execute(_SESSION.format(idle_ms=milliseconds), prepare=False)
    except BaseException:
        connection.close()
        raise
    return connection


def is_pooled(connection: Connection) -> bool:
    """Say whether a pooler stands between: it invents the process id that it reports at connect."""
    row = connection.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    return row is not None and row[0] != connection.info.backend_pid


def is_usable(connection: Connection) -> bool:
    """Say whether the connection is open and outside of a transaction."""
    return not connection.closed and connection.info.transaction_status == TransactionStatus.IDLE


class DatabaseLoop(Loop):
    """A loop with a connection of its own that survives any outage, also one at start-up.

    `work(connection)` runs until `stopping` is set; a transient error closes the connection and calls it again
    with a new one, after a growing delay. `connected(connection)` runs first on each connection.
    """

    def __init__(self, *, alias: str, application_name: str, lease_seconds: float, **options: Any) -> None:
        super().__init__(**options)
        self._alias = alias
        self._application_name = application_name
        self._lease_seconds = lease_seconds
        self._delays = reconnect_delays()
        self._pause = threading.Event()

    def run(self) -> None:
        """Work on one connection after the other."""
        while not self.finished():
            self.trying()
            try:
                self._run_once()
            except psycopg.Error as error:
                if not is_transient(error):
                    raise
                self._wait_after(error)

    def finished(self) -> bool:
        """Say whether the loop may end; one with something to write ends later."""
        return self.stopping.is_set()

    def trying(self) -> None:
        """Do something before each try to connect."""

    def connected(self, connection: Connection) -> None:
        """Prepare a new connection."""

    def work(self, connection: Connection) -> None:  # noqa: ARG002 - what subclasses define
        """Do the loop's work."""
        raise TypeError(f"{type(self).__name__} must define work()")

    def healthy(self) -> None:
        """Say that the database answers: the next outage starts with short delays again."""
        self._delays = reconnect_delays()

    def stop(self) -> None:
        """Ask the loop to end, also while it waits to reconnect."""
        super().stop()
        self._pause.set()

    def _run_once(self) -> None:
        connection = connect(self._alias, self._application_name, lease_seconds=self._lease_seconds)
        try:
            self.connected(connection)
            self.work(connection)
        finally:
            connection.close()

    def _wait_after(self, error: psycopg.Error) -> None:
        delay = next(self._delays)
        event(
            logger, logging.WARNING, "database.unavailable",
            loop=self.name, error=str(error).strip().splitlines()[0] if str(error).strip() else repr(error),
            retry_in=delay,
        )  # fmt: skip
        # Woken by `stop` once: after that a loop with something left to write waits its full delays again.
        self._pause.wait(delay)
        self._pause.clear()
