"""Several statements in one round trip and one transaction, on a connection of psycopg's.

What is sent up to a Sync of the protocol is one transaction, without a BEGIN (PostgreSQL docs, "Pipelining"; libpq,
"Pipeline Mode"). psycopg's cursors find out anew for each statement what it is called and of which type each parameter
is; for what a worker runs all day, that is up to half of its driver's work. Here the statements are prepared
once, under their own names; the parameters go as text, since each has a cast; the rows come back by psycopg's loaders.
"""

from __future__ import annotations

import contextlib
import math
import select
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from .arraytext import array_text, item_text
from .db import Connection, DedicatedConnection, Unanswered
from .sql import positional, statement

T = TypeVar("T")
Row = tuple[Any, ...]
Request = tuple[str, Mapping[str, Any]]
# Statements by name, with their parameters as text.
_Listed = Sequence[tuple[str, list[bytes | None]]]

_BAD: Final = ConnStatus.BAD
# No wait in C is longer, in seconds: an exception from another thread is raised between two of them.
_SLICE: Final = 0.1
_SYNC: Final = ExecStatus.PIPELINE_SYNC
_FAILED: Final = {ExecStatus.FATAL_ERROR, ExecStatus.BAD_RESPONSE}
# The statements that each connection has: one may be used through several pipelines, one after the other.
_prepared: Final[WeakKeyDictionary[Connection, set[str]]] = WeakKeyDictionary()


@dataclass(slots=True)
class Hint:
    """A statement to run behind others, in their round trip but in a transaction of its own: nothing depends on it."""

    request: Request
    # Whether it was, once the others have run.
    sent: bool = False
    # What came of it, where it failed.
    error: psycopg.Error | None = None


class Pipeline:
    """The prepared statements of one connection, used by one thread."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._pgconn = connection.pgconn
        self._patience = connection.patience if isinstance(connection, DedicatedConnection) else math.inf
        self._transformer = Transformer(connection)
        self._prepared = _prepared.setdefault(connection, set())
        self._poll = select.poll()

    def run(self, requests: Sequence[Request]) -> list[list[Row]]:
        """Run the statements in one transaction; return the rows of each.

        Raises what the server says to the first that fails, psycopg.OperationalError where the connection breaks, and
        Unanswered; after the last two it is closed.
        """
        if self.connection.prepare_threshold is None:
            return self._run_unprepared(requests)
        return self.run_prepared(requests)

    def run_prepared(self, requests: Sequence[Request], hint: Hint | None = None) -> list[list[Row]]:
        """Do as `run` on a connection that is known to be no pooler's. In an open transaction it is a part of that.

        The hint is for outside of transactions. It is run whatever becomes of the others, after their commit; that it
        failed is noted in it, and raised by nobody.
        """
        # Before anything is sent: what cannot be written as text must not leave half a pipeline behind.
        listed = [(name, self._texts(name, params)) for name, params in requests]
        last = None if hint is None else [(hint.request[0], self._texts(*hint.request))]
        try:
            return self._run_prepared(listed, hint, last)
        except psycopg.errors.InvalidSqlStatementName:
            # Discarded meanwhile, as psycopg does after a rollback with all that a session has. Nothing has happened.
            self._prepared.clear()
            if self._pgconn.transaction_status != TransactionStatus.IDLE:
                raise
            return self._run_prepared(listed, hint, last)

    def _run_prepared(self, listed: _Listed, hint: Hint | None, last: _Listed | None) -> list[list[Row]]:
        names = dict.fromkeys(name for name, _ in [*listed, *(last or ())])
        self._prepare([name for name in names if name not in self._prepared])
        if hint is None or last is None:
            results = self._exchange(self._send_queries, listed)
        else:
            results = self._guarded(lambda: self._hinted(listed, hint, last))
        return [self._rows(result) for result in results]

    def _hinted(self, listed: _Listed, hint: Hint, last: _Listed) -> list[PGresult]:
        self._begin(self._send_queries, listed, last)
        results = self._results()
        hint.sent, hint.error = True, None
        try:
            for result in self._results():
                self._rows(result)
        except psycopg.Error as error:
            hint.error = error
            if isinstance(error, psycopg.errors.InvalidSqlStatementName):
                self._prepared.clear()
        self._end()
        return results

    def _prepare(self, names: Sequence[str]) -> None:
        """Prepare statements by themselves: to parse one sets a snapshot, after which no BEGIN can say its level."""
        if names:
            # Up to the first that fails.
            for name, result in zip(names, self._exchange(self._send_prepares, names), strict=False):
                self._rows(result)
                self._prepared.add(name)

    def _run_unprepared(self, requests: Sequence[Request]) -> list[list[Row]]:
        """Run them behind a pooler, where prepared statements may belong to somebody else's session."""
        if len(requests) == 1:
            [(name, params)] = requests
            return [self.connection.execute(statement(name), params).fetchall()]
        with self.connection.pipeline():
            cursors = [self.connection.execute(statement(name), params) for name, params in requests]
        return [cursor.fetchall() for cursor in cursors]

    def _texts(self, name: str, params: Mapping[str, Any]) -> list[bytes | None]:
        return [_text(params[parameter]) for parameter in positional(name).parameters]

    def command(self, text: str) -> PGresult:
        """Run a statement without parameters, such as SAVEPOINT, as it is. Raises as `run` does."""
        result = self._guarded(lambda: self._asked(lambda: self._pgconn.send_query(text.encode())))
        if result.status in _FAILED:
            raise error_from_result(result, self.connection.info.encoding)
        return result

    def stream(self, requests: Iterable[Request]) -> Iterator[list[Row]]:
        """Run statements one by one, unprepared; each request is asked for while the server runs the one before it.

        What makes the requests must not use this connection. Raises as `run` does; and what making a request raises,
        once the server has answered, so that the connection can be used again.
        """
        is_running = False
        try:
            for name, params in requests:
                texts = self._texts(name, params)
                rows = None
                if is_running:
                    is_running = False
                    rows = self._rows(self._guarded(self._answer))
                is_running = True
                self._guarded(lambda name=name, texts=texts: self._ask(name, texts))  # type: ignore[misc]
                if rows is not None:
                    yield rows
            if is_running:
                is_running = False
                yield self._rows(self._guarded(self._answer))
        finally:
            if is_running:
                # Another error is on its way.
                with contextlib.suppress(psycopg.Error):
                    self._guarded(self._answer)

    # -- the protocol ---------------------------------------------------------------------------------------

    def _send_prepares(self, names: Sequence[str]) -> None:
        for name in names:
            self._pgconn.send_prepare(name.encode(), positional(name).text.encode())

    def _send_queries(self, listed: _Listed) -> None:
        for name, texts in listed:
            self._pgconn.send_query_prepared(name.encode(), texts)

    def _exchange(self, send: Callable[[Sequence[T]], None], what: Sequence[T]) -> list[PGresult]:
        """Send all, read all; return the result of each, up to the first that failed."""
        return self._guarded(lambda: self._exchanged(send, what))

    def _guarded(self, talk: Callable[[], T]) -> T:
        with self.connection.lock:
            try:
                return talk()
            except BaseException:
                # Of half an exchange nobody knows the rest.
                self.connection.close()
                raise

    def _asked(self, send: Callable[[], None]) -> PGresult:
        send()
        self._flush(time.monotonic() + self._patience)
        return self._answer()

    def _ask(self, name: str, texts: list[bytes | None]) -> None:
        self._pgconn.send_query_params(positional(name).text.encode(), texts)
        self._flush(time.monotonic() + self._patience)

    def _answer(self) -> PGresult:
        """Return the last result of what was sent outside of pipeline mode."""
        pgconn = self._pgconn
        until = time.monotonic() + self._patience
        last: PGresult | None = None
        while (result := self._next(until)) is not None:
            last = result
        if last is None or (pgconn.status == _BAD and last.status not in _FAILED):
            raise psycopg.OperationalError(f"the connection was lost: {pgconn.get_error_message()}")
        return last

    def _exchanged(self, send: Callable[[Sequence[T]], None], what: Sequence[T]) -> list[PGresult]:
        self._begin(send, what)
        results = self._results()
        self._end()
        return results

    def _begin(self, send: Callable[[Sequence[T]], None], *parts: Sequence[T]) -> None:
        """Send parts, of which each is a transaction."""
        self._pgconn.enter_pipeline_mode()
        for part in parts:
            send(part)
            self._pgconn.pipeline_sync()

    def _end(self) -> None:
        if self._pgconn.status != _BAD:
            self._pgconn.exit_pipeline_mode()

    def _results(self) -> list[PGresult]:
        """Return the results of one part, up to the first that failed."""
        pgconn = self._pgconn
        results: list[PGresult] = []
        for result in self._receive():
            results.append(result)
            if result.status in _FAILED:
                break
        if pgconn.status == _BAD and not (results and results[-1].status in _FAILED):
            raise psycopg.OperationalError(f"the connection was lost: {pgconn.get_error_message()}")
        return results

    def _receive(self) -> list[PGresult]:
        """Return all results up to the Sync, or up to the end of the connection."""
        pgconn = self._pgconn
        until = time.monotonic() + self._patience
        self._flush(until)
        results: list[PGresult] = []
        while True:
            # None stands between the results of one statement and of the next.
            result = self._next(until)
            if result is None:
                if pgconn.status == _BAD:
                    return results
            elif result.status == _SYNC:
                return results
            else:
                results.append(result)

    def _flush(self, until: float) -> None:
        while self._pgconn.flush():
            # The server may want to be rid of answers before it reads on.
            self._wait(select.POLLIN | select.POLLOUT, until)
            self._pgconn.consume_input()

    def _next(self, until: float) -> PGresult | None:
        while self._pgconn.is_busy():
            self._wait(select.POLLIN, until)
            self._pgconn.consume_input()
        return self._pgconn.get_result()

    def _wait(self, events: int, until: float) -> None:
        self._poll.register(self._pgconn.socket, events)
        while not self._poll.poll(max(0.0, min(_SLICE, until - time.monotonic())) * 1000):
            if time.monotonic() >= until:
                raise Unanswered(f"the server has not answered within {self._patience:g} s")

    def _rows(self, result: PGresult) -> list[Row]:
        if result.status == ExecStatus.COMMAND_OK:
            return []
        if result.status != ExecStatus.TUPLES_OK:
            raise error_from_result(result, self.connection.info.encoding)
        self._transformer.set_pgresult(result)
        rows: list[Row] = self._transformer.load_rows(0, result.ntuples, tuple)
        return rows


def _text(value: Any) -> bytes | None:
    """Return a parameter as PostgreSQL's text. Raises psycopg.DataError for what no text of PostgreSQL's can hold."""
    if value is None:
        return None
    text = array_text(map(item_text, value)) if isinstance(value, list) else str(value)
    if "\0" in text:
        # libpq would take it for the end.
        raise psycopg.DataError("PostgreSQL text cannot contain NUL (0x00) bytes")
    return text.encode()
