"""The dedicated psycopg connections of workers and schedulers, and how they come back after an outage."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Generator
from typing import Any, Final

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
_SESSION: Final = """
SET application_name = {name};
SET default_transaction_isolation = 'read committed';
SET plan_cache_mode = force_generic_plan;
SET jit = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET idle_in_transaction_session_timeout = {idle};
SELECT set_config('statement_timeout', {patience}, false)
WHERE current_setting('statement_timeout')::interval NOT BETWEEN '1 ms' AND {patience}::interval
"""
# A pooler passes a session on with the name that its last user gave at connect. Were it an owner's, whoever takes over
# from that owner would end a session that serves another by then.
NAME_AT_CONNECT: Final = "conveyor"

# The least time that a statement has, and how much longer than the server's own limit is waited for its word.
LEAST_PATIENCE: Final = 5.0
_MARGIN: Final = 2.0

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


class Unanswered(psycopg.OperationalError):
    """No answer to a statement came in time; its connection is closed."""


class DedicatedConnection(Connection):
    """A connection on which no statement is waited for without end.

    TCP's own timeouts do not see a silence behind a load balancer or a pooler, which acknowledges every segment; and a
    loop that waits for ever neither works nor fails.
    """

    # How long a statement is waited for, in seconds.
    patience = math.inf

    def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
        """Do as psycopg does, for at most `patience`. Raises Unanswered then."""
        try:
            return super().wait(_bounded(gen, self.patience), *args, **options)
        except Unanswered:
            # As if it had broken: whoever still has something to end on it must not wait again.
            self.close()
            raise


def _bounded(gen: Generator[Any, Any, Any], seconds: float) -> Generator[Any, Any, Any]:
    """Go on with `gen`, one of psycopg's; psycopg resumes it a few times a second while nothing is there to be read."""
    until = time.monotonic() + seconds
    ready = None
    try:
        while True:
            ready = yield gen.send(ready)
            if not ready and time.monotonic() > until:
                raise Unanswered(f"the server has not answered within {seconds:g} s")
    except StopIteration as end:
        return end.value


def connect(alias: str, application_name: str, *, lease_seconds: float) -> Connection:
    """Open a dedicated connection to Django's database `alias`: autocommit, prepared, with pinned plans.

    `lease_seconds` bounds what a frozen peer can hold: an idle transaction and an unanswered TCP segment
    end within it (rule 7). A statement too may take as long as a lease, or LEAST_PATIENCE: then the server ends it,
    and if no word comes from there, it raises Unanswered. Raises DatabaseUnsupported, or psycopg.OperationalError if
    it cannot connect.
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
    params = defaults | params | {"application_name": NAME_AT_CONNECT}
    connection = DedicatedConnection.connect(**params, autocommit=True, prepare_threshold=0)
    patience = max(LEAST_PATIENCE, lease_seconds)
    connection.patience = patience + _MARGIN
    try:
        if role := wrapper.settings_dict["OPTIONS"].get("assume_role"):
            # As Django does on its own connections, with or without a pooler.
            connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)), prepare=False)
        if is_pooled(connection):
            # Neither session settings nor prepared statements belong to us behind a pooler.
            connection.prepare_threshold = None
        else:
            session = sql.SQL(_SESSION).format(
                name=application_name, idle=f"{milliseconds}ms", patience=f"{patience * 1000:.0f}ms"
            )
            connection.execute(session, prepare=False)
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
