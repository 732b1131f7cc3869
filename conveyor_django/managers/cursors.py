"""Statements with parameters of their own on the caller's Django connection, prepared where that is safe.

Django writes parameters into the text of a statement, which the server parses and plans anew each time: for one enqueue
that takes longer than to run it, for many it has megabytes to read. Here the driver's cursor is another; Django's own
above it, with its wrappers, checks and errors, stays.
"""

from __future__ import annotations

from typing import Any, Final
from weakref import WeakKeyDictionary

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.base import Cursor, ServerBindingCursor
from psycopg.pq import TransactionStatus

from ..db import is_pooled

# How often a connection is used before anything is prepared on it: one that lives for a request pays nothing.
USES_BEFORE: Final = 5
_NEVER: Final = -1

# How often each connection was used, until it prepares; or that it never does.
_uses: Final[WeakKeyDictionary[psycopg.Connection[Any], int]] = WeakKeyDictionary()

# Django's own classes of the driver's cursor.
_OWN: Final[frozenset[Any]] = frozenset({Cursor, ServerBindingCursor})
# The statement is gone: somebody has discarded what the session had. Or it cannot be made: somebody's has that name. Or
# a migration has changed the type of what it returns.
_UNUSABLE: Final = (
    psycopg.errors.InvalidSqlStatementName,
    psycopg.errors.DuplicatePreparedStatement,
    psycopg.errors.FeatureNotSupported,
)


class PreparingCursor(psycopg.Cursor[Any]):
    """A cursor that prepares what it executes, for a connection in autocommit."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> PreparingCursor:
        """Execute a prepared statement, and make it first where it is missing; without one where it is unusable."""
        connection = self.connection
        # With Django it is None, which keeps the driver from preparing: for this statement alone it is not.
        threshold, connection.prepare_threshold = connection.prepare_threshold, 0
        try:
            super().execute(query, params, **options | {"prepare": True})
        except _UNUSABLE:
            # Outside of a transaction a statement that failed has done nothing, so it may be sent once more.
            _uses[connection] = _NEVER
            super().execute(query, params, **options | {"prepare": False})
        finally:
            connection.prepare_threshold = threshold
        return self


def preparing_cursor(wrapper: BaseDatabaseWrapper) -> Any:
    """Return Django's cursor on its connection for a short statement that is run often: it prepares where it may."""
    return _cursor_over(PreparingCursor, wrapper) if _may_bind(wrapper) and may_prepare(wrapper) else wrapper.cursor()


def binding_cursor(wrapper: BaseDatabaseWrapper) -> Any:
    """Return Django's cursor on its connection for a statement with large parameters: they stay out of its text."""
    return _cursor_over(ServerBindingCursor, wrapper) if _may_bind(wrapper) else wrapper.cursor()


def _cursor_over(cursor_class: type[Any], wrapper: BaseDatabaseWrapper) -> Any:
    raw = wrapper.connection
    factory, raw.cursor_factory = raw.cursor_factory, cursor_class
    try:
        return wrapper.cursor()
    finally:
        raw.cursor_factory = factory


def _may_bind(wrapper: BaseDatabaseWrapper) -> bool:
    """Say whether the driver's cursor on this connection may be another one.

    Not where queries are logged, which then show their values; nor in the place of one that is not Django's own, which
    is there to watch.
    """
    raw = wrapper.connection
    return isinstance(raw, psycopg.Connection) and not wrapper.queries_logged and raw.cursor_factory in _OWN


def may_prepare(wrapper: BaseDatabaseWrapper) -> bool:
    """Say whether the next statement on this connection is to be prepared, which counts as a use.

    Not in a transaction: it would break if the session's statements had been discarded. Not behind a pooler, whose
    sessions others use too.
    """
    raw = wrapper.connection
    if not raw.autocommit or raw.info.transaction_status != TransactionStatus.IDLE:
        return False
    uses = _uses.get(raw, 0)
    if uses == USES_BEFORE:
        uses = _uses[raw] = uses + 1 if _is_allowed(wrapper) else _NEVER
    elif 0 <= uses < USES_BEFORE:
        _uses[raw] = uses + 1
    return uses > USES_BEFORE


def _is_allowed(wrapper: BaseDatabaseWrapper) -> bool:
    """Say whether a connection may have prepared statements. Asks the server."""
    options = wrapper.settings_dict["OPTIONS"]
    if options.get("prepare_threshold", 0) is None or wrapper.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
        return False
    with wrapper.wrap_database_errors:
        return not is_pooled(wrapper.connection)
