"""Prepared statements on Django's connections, where they are safe, past the cursors of psycopg and Django.

Django writes parameters into the text of a statement, which the server parses and plans anew each time: for an enqueue,
or the success of one small job, that takes longer than to run it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.base import Cursor, ServerBindingCursor
from psycopg.pq import TransactionStatus

from .pipeline import Hint, Pipeline, Request, Row

# How often a connection is used before anything is prepared on it: one that lives for a request pays nothing.
USES_BEFORE: Final = 5
_NEVER: Final = -1

# Django's own classes of the driver's cursor.
_OWN: Final[frozenset[Any]] = frozenset({Cursor, ServerBindingCursor})
# The statement is gone: somebody has discarded what the session had. Or it cannot be made: somebody's has that name. Or
# a migration has changed the type of what it returns.
_UNUSABLE: Final = (
    psycopg.errors.InvalidSqlStatementName,
    psycopg.errors.DuplicatePreparedStatement,
    psycopg.errors.FeatureNotSupported,
)


@dataclass(slots=True)
class _Session:
    """What is known of the session that one of Django's connections has just now."""

    pipeline: Pipeline
    # How often it was used, until it prepares; or that it never does.
    uses: int = 0


# Kept by Django's wrapper, which outlives the driver's connection: kept by that, its own pipeline would keep it alive.
_sessions: Final[WeakKeyDictionary[BaseDatabaseWrapper, _Session]] = WeakKeyDictionary()


class StatementsGone(Exception):
    """The session's prepared statements were discarded in the midst of a transaction, which is broken by that."""


def run_prepared(
    wrapper: BaseDatabaseWrapper, requests: Sequence[Request], hint: Hint | None = None
) -> list[list[Row]] | None:
    """Run statements as the first ones on an idle connection, in one round trip; return the rows of each.

    None where nothing is to be prepared, or could be: then nothing was done, but for the hint perhaps. Raises Django's
    errors.
    """
    if not is_unwatched(wrapper):
        return None
    session = _session_of(wrapper)
    return _run(wrapper, session, requests, hint) if _may_prepare(wrapper, session) else None


def run_prepared_within(wrapper: BaseDatabaseWrapper, requests: Sequence[Request]) -> list[list[Row]] | None:
    """Do as `run_prepared` in an open transaction that has begun with it.

    Not where the driver prepares too: after a rollback, to a savepoint even, it discards all that a session has. Raises
    StatementsGone.
    """
    raw = wrapper.connection
    if not is_unwatched(wrapper) or raw.prepare_threshold is not None:
        return None
    session = _session_of(wrapper)
    if session.uses <= USES_BEFORE or raw.pgconn.transaction_status != TransactionStatus.INTRANS:
        return None
    return _run(wrapper, session, requests)


def stream_within(wrapper: BaseDatabaseWrapper, requests: Iterable[Request]) -> Iterator[list[Row]] | None:
    """Run statements in the open transaction, each made while the server runs the one before it: see `Pipeline.stream`.

    Nothing is prepared. None where somebody watches; then nothing was done. Raises Django's errors.
    """
    if not is_unwatched(wrapper) or wrapper.connection.pgconn.transaction_status != TransactionStatus.INTRANS:
        return None
    wrapper.validate_thread_sharing()
    return _streamed(wrapper, requests)


def _streamed(wrapper: BaseDatabaseWrapper, requests: Iterable[Request]) -> Iterator[list[Row]]:
    with wrapper.wrap_database_errors:
        yield from _session_of(wrapper).pipeline.stream(requests)


def run_command(wrapper: BaseDatabaseWrapper, command: str) -> None:
    """Run a command that has no parameters and no answer, such as SAVEPOINT. Raises Django's errors."""
    if not is_unwatched(wrapper):
        with wrapper.cursor() as cursor:
            cursor.execute(command)
        return
    with wrapper.wrap_database_errors:
        Pipeline(wrapper.connection).command(command)


def is_unwatched(wrapper: BaseDatabaseWrapper) -> bool:
    """Say whether a statement may go by another way than Django's cursor.

    Not where queries are logged or wrapped, whose readers want to see them all; nor past a driver's cursor that is not
    Django's own, which is there to watch. Nor where somebody has changed the encoding of the session, which Django sets
    to UTF-8: the other way writes no other.
    """
    raw = wrapper.connection
    return (
        isinstance(raw, psycopg.Connection)
        and not wrapper.queries_logged
        and not wrapper.execute_wrappers
        and raw.cursor_factory in _OWN
        and raw.pgconn.parameter_status(b"client_encoding") == b"UTF8"
    )


def _session_of(wrapper: BaseDatabaseWrapper) -> _Session:
    session = _sessions.get(wrapper)
    if session is None or session.pipeline.connection is not wrapper.connection:
        session = _sessions[wrapper] = _Session(Pipeline(wrapper.connection))
    return session


def _may_prepare(wrapper: BaseDatabaseWrapper, session: _Session) -> bool:
    """Say whether the next statements on this connection are to be prepared, which counts as a use.

    Not in the midst of a transaction: it would break if the session's statements had been discarded. Not behind a
    pooler, whose sessions others use too.
    """
    if wrapper.connection.pgconn.transaction_status != TransactionStatus.IDLE:
        return False
    if session.uses > USES_BEFORE:
        return True
    if session.uses == USES_BEFORE:
        session.uses = USES_BEFORE + 1 if _is_allowed(wrapper) else _NEVER
    elif session.uses != _NEVER:
        session.uses += 1
        return False
    return session.uses > USES_BEFORE


def _is_allowed(wrapper: BaseDatabaseWrapper) -> bool:
    """Say whether a connection may have prepared statements. Asks the server, outside of any transaction."""
    options = wrapper.settings_dict["OPTIONS"]
    if options.get("prepare_threshold", 0) is None or wrapper.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
        return False
    with wrapper.wrap_database_errors:
        return not is_pooled(wrapper.connection)


def is_pooled(raw: psycopg.Connection[Any]) -> bool:
    """Say whether a pooler stands between: it invents the process id that it reports at connect.

    Asked without the BEGIN that the driver would send before it on a connection that is not in autocommit.
    """
    pid = Pipeline(raw).command("SELECT pg_backend_pid()").get_value(0, 0)
    return pid is None or int(pid) != raw.info.backend_pid


def _run(
    wrapper: BaseDatabaseWrapper, session: _Session, requests: Sequence[Request], hint: Hint | None = None
) -> list[list[Row]] | None:
    wrapper.validate_thread_sharing()
    with wrapper.wrap_database_errors:
        try:
            return session.pipeline.run_prepared(requests, hint)
        except _UNUSABLE as error:
            session.uses = _NEVER
            # Outside of a transaction nothing has happened, so all may be sent once more, by cursors.
            if wrapper.connection.pgconn.transaction_status != TransactionStatus.IDLE:
                raise StatementsGone(str(error).strip()) from error
            return None
