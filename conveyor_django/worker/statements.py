"""Cutting short what a handler waits for in the database: an interruption does not reach a thread that waits in C."""

from __future__ import annotations

import logging
import threading
from typing import Any, Final

import psycopg
from django.db import connections
from psycopg.pq import TransactionStatus

from ..log import event, get_logger

logger = get_logger("worker.statements")

# How long a request to cancel may take; it needs a connection of its own.
CUT_SECONDS: Final = 2.0


class Statements:
    """The statements that the thread which makes this runs on Django's connections."""

    def __init__(self) -> None:
        # Wrappers belong to their thread; only there can they be had.
        self._wrappers = connections.all()
        # Held while a request is on its way: it must not hit what the thread runs next.
        self._cutting = threading.Lock()

    def cut(self) -> None:
        """Ask the server to cancel what runs, from another thread; returns at once."""
        running = [c for c in (wrapper.connection for wrapper in self._wrappers) if _runs_something(c)]
        if running and self._cutting.acquire(blocking=False):
            threading.Thread(target=self._cut, args=(running,), name="conveyor-cut", daemon=True).start()

    def settle(self) -> None:
        """Wait until no request is on its way any more."""
        with self._cutting:
            pass

    def _cut(self, running: list[psycopg.Connection[Any]]) -> None:
        try:
            for connection in running:
                connection.cancel_safe(timeout=CUT_SECONDS)
        except psycopg.Error as error:
            # The handler goes on, and ends with its process.
            event(logger, logging.WARNING, "statement.not_cut", error=str(error).strip())
        finally:
            self._cutting.release()


def _runs_something(connection: Any) -> bool:
    return (
        isinstance(connection, psycopg.Connection)
        and not connection.closed
        and connection.info.transaction_status == TransactionStatus.ACTIVE
    )
