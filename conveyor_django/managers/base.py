"""How a manager runs its statements."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, Final, Protocol

from django.db import connections, models

from ..pipeline import Hint, Request
from ..preparing import run_prepared, run_prepared_within, stream_within
from ..sql import statement
from .cursors import binding_cursor

Row = tuple[Any, ...]

# A clock for tests, in place of the database's: the `now` of statements that are given none.
frozen_now: Final[ContextVar[Callable[[], dt.datetime] | None]] = ContextVar("frozen_now", default=None)


class Connection(Protocol):
    """What a statement needs of a connection: Django's wrappers and psycopg's connections both have it."""

    def cursor(self) -> Any:
        """Return a cursor that is a context manager."""
        ...


class StatementManager(models.Manager[Any]):
    """A manager whose methods run the statements of `sql/`."""

    def rows(self, name: str, params: Mapping[str, Any], on: Connection | None = None) -> list[Row]:
        """Run the statement `name` and return its rows. Database errors pass through."""
        connection = connections[self.db] if on is None else on
        return self._fetched(connection.cursor(), name, params)

    def hot_rows(
        self, name: str, params: dict[str, Any], on: Connection | None = None, hint: Hint | None = None
    ) -> list[Row]:
        """Do as `rows`, with a prepared statement where Django's connection can have one, outside of transactions.

        The hint goes with a prepared statement alone; it says whether it was sent.
        """
        connection = connections[self.db] if on is None else None
        if connection is not None and connection.get_autocommit():
            answers = run_prepared(connection, [(name, _timed(params))], hint)
            if answers is not None:
                return answers[0]
        return self.rows(name, params, on)

    def last_rows(self, name: str, params: dict[str, Any]) -> list[Row]:
        """Do as `rows` for the last statement of an open transaction: its plan is pinned, if it can be prepared."""
        answers = run_prepared_within(connections[self.db], [("session/pin_plans", {}), (name, _timed(params))])
        return self.rows(name, params) if answers is None else answers[1]

    def bulk_rows(self, name: str, params: Mapping[str, Any], on: Connection | None = None) -> list[Row]:
        """Do as `rows`, with parameters that may be large."""
        if on is not None:
            return self.rows(name, params, on)
        return self._fetched(binding_cursor(connections[self.db]), name, params)

    def streamed_rows(self, requests: Iterable[Request]) -> Iterator[list[Row]]:
        """Do as `bulk_rows` for one request after the other, in the open transaction; see `preparing.stream_within`."""
        timed = ((name, _timed(params)) for name, params in requests)
        streamed = stream_within(connections[self.db], timed)
        return (self.bulk_rows(name, params) for name, params in timed) if streamed is None else streamed

    def _fetched(self, cursor: Any, name: str, params: Mapping[str, Any]) -> list[Row]:
        with cursor:
            cursor.execute(statement(name), _timed(params))
            rows: list[Row] = cursor.fetchall()
            return rows


def _timed(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters with a frozen clock's time, where there is one and they have none."""
    if params.get("now", 0) is None and (clock := frozen_now.get()) is not None:
        return {**params, "now": clock()}
    return params
