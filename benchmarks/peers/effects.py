"""The one row that a handler of the kind `effect` writes, each in a commit of its own."""

from __future__ import annotations

import os
import threading
from typing import Final

import psycopg
from psycopg_pool import AsyncConnectionPool

from .base import database

INSERT: Final = "INSERT INTO effects (sequence) VALUES (%s)"

_local = threading.local()
_pools: list[AsyncConnectionPool] = []


def write(sequence: int) -> None:
    """Write the row on this thread's own connection, as a handler without a pool does."""
    connection: psycopg.Connection | None = getattr(_local, "connection", None)
    # A forked process must not use its parent's.
    if connection is None or _local.pid != os.getpid():
        connection = _local.connection = psycopg.connect(database(), autocommit=True)
        _local.pid = os.getpid()
    connection.execute(INSERT, (sequence,))


async def write_async(sequence: int) -> None:
    """Write the row on a connection of this process's pool."""
    if not _pools:
        pool = AsyncConnectionPool(database(), min_size=4, max_size=16, open=False, kwargs={"autocommit": True})
        _pools.append(pool)
        await pool.open()
    async with _pools[0].connection() as connection:
        await connection.execute(INSERT, (sequence,))
