"""How a manager runs its statements."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, Protocol

from django.db import connections, models

from ..sql import statement
from .cursors import binding_cursor, preparing_cursor

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

    def rows(self, name: str, params: dict[str, Any], on: Connection | None = None) -> list[Row]:
        """Run the statement `name` and return its rows. Database errors pass through."""
        connection = connections[self.db] if on is None else on
        return self._fetched(connection.cursor(), name, params)

    def hot_rows(self, name: str, params: dict[str, Any], on: Connection | None = None) -> list[Row]:
        """Do as `rows`, with a prepared statement where Django's connection can have one."""
        if on is not None:
            return self.rows(name, params, on)
        return self._fetched(preparing_cursor(connections[self.db]), name, params)

    def bulk_rows(self, name: str, params: dict[str, Any], on: Connection | None = None) -> list[Row]:
        """Do as `rows`, with parameters that may be large."""
        if on is not None:
            return self.rows(name, params, on)
        return self._fetched(binding_cursor(connections[self.db]), name, params)

    def _fetched(self, cursor: Any, name: str, params: dict[str, Any]) -> list[Row]:
        if params.get("now", 0) is None and (clock := frozen_now.get()) is not None:
            params = params | {"now": clock()}
        with cursor:
            cursor.execute(statement(name), params)
            rows: list[Row] = cursor.fetchall()
            return rows
