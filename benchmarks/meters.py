"""What a run costs besides time: CPU of workers and server, WAL, commits, fsyncs, dead rows; memory and sizes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Self

import psutil

from .figures import per_job
from .server import Server

_WORK: Final = """
SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint,
       (SELECT coalesce(sum(fsyncs), 0)::bigint FROM pg_stat_io WHERE object = 'wal'),
       (SELECT coalesce(sum(xact_commit), 0)::bigint FROM pg_stat_database WHERE datname = ANY (%s))
"""
# Rows that an update or a deletion leaves dead, wherever vacuum has been since.
_ROWS: Final = "SELECT coalesce(sum(n_tup_upd + n_tup_del), 0)::bigint FROM pg_stat_user_tables"
_SIZES: Final = """
SELECT coalesce(sum(n_dead_tup), 0)::bigint, coalesce(sum(pg_table_size(relid)), 0)::bigint,
       coalesce(sum(pg_indexes_size(relid)), 0)::bigint
FROM pg_stat_user_tables
"""


@dataclass(frozen=True, slots=True)
class ServerWork:
    """Counters of the server: bytes, fsyncs, commits, rows left dead.

    The position of the WAL is exact. The others are what sessions have reported, which they do once a second while
    they work, and at their end.
    """

    wal_bytes: int
    fsyncs: int
    commits: int
    dead_rows: int

    @classmethod
    def of(cls, server: Server, databases: Iterable[str]) -> Self:
        """Read them."""
        names = list(databases)
        dead = 0
        for database in names:
            with server.connect(database) as connection:
                dead += (connection.execute(_ROWS).fetchone() or (0,))[0]
        with server.connect() as connection:
            row = connection.execute(_WORK, (names,)).fetchone()
        wal_bytes, fsyncs, commits = row or (0, 0, 0)
        return cls(wal_bytes, fsyncs, commits, dead)

    def since(self, before: ServerWork, jobs: int) -> dict[str, Any]:
        """Return what has come since, per job."""
        return {
            "wal_bytes_per_job": per_job(self.wal_bytes - before.wal_bytes, jobs, 0),
            "fsyncs_per_job": per_job(self.fsyncs - before.fsyncs, jobs),
            "commits_per_job": per_job(self.commits - before.commits, jobs),
            "dead_rows_per_job": per_job(self.dead_rows - before.dead_rows, jobs, 2),
        }


def sizes(server: Server, databases: Iterable[str]) -> dict[str, float]:
    """Return dead rows that vacuum has not been at yet, and the size of tables and of indexes, in MB."""
    dead = tables = indexes = 0
    for database in databases:
        with server.connect(database) as connection:
            row = connection.execute(_SIZES).fetchone() or (0, 0, 0)
        dead, tables, indexes = dead + row[0], tables + row[1], indexes + row[2]
    return {"dead_rows": dead, "tables_mb": megabytes(tables), "indexes_mb": megabytes(indexes)}


def megabytes(amount: int) -> float:
    """Return bytes in MB, to a tenth."""
    return round(amount / 2**20, 1)


def cpu_seconds(processes: Iterable[psutil.Process]) -> float:
    """Return the CPU seconds of the processes and their descendants, those included that have ended."""
    total = 0.0
    for process in processes:
        for one in family(process):
            with contextlib.suppress(psutil.Error):
                times = one.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
    return total


def resident_bytes(processes: Iterable[psutil.Process]) -> int:
    """Return the resident memory of the processes and their descendants."""
    total = 0
    for process in processes:
        for one in family(process):
            with contextlib.suppress(psutil.Error):
                total += one.memory_info().rss
    return total


def family(process: psutil.Process) -> list[psutil.Process]:
    """Return a process and its descendants; nothing of one that has ended."""
    try:
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []
