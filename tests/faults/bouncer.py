"""PgBouncer in transaction mode between the processes and PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import psycopg

from ..support.waits import wait_until
from .packages import program

PATIENCE: Final = 10.0
# `ignore_startup_parameters`: what clients may send at connect, and a pooled session cannot heed.
CONFIGURATION: Final = """
[databases]
* = host={sockets} port=5432
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {users}
pool_mode = transaction
default_pool_size = {pool}
max_client_conn = 500
server_login_retry = 1
ignore_startup_parameters = extra_float_digits,options
logfile = {log}
"""


class Bouncer:
    """A PgBouncer of a test's own; `pool` server connections per database and user at most."""

    def __init__(self, sockets: str, folder: Path, *, pool: int) -> None:
        self.port = _free_port()
        self._folder = folder
        # It refuses to run as root, and the sockets are closed to others than the server's own user.
        self._user = Path(sockets).stat().st_uid if os.geteuid() == 0 else None
        self._program = program("pgbouncer", "pgbouncer")
        self._process: subprocess.Popen[bytes] | None = None
        users = folder / "users"
        users.write_text('"postgres" ""\n')
        (folder / "pgbouncer.ini").write_text(
            CONFIGURATION.format(sockets=sockets, port=self.port, users=users, pool=pool, log=folder / "log")
        )
        if self._user is not None:
            for path in (folder, *folder.iterdir()):
                os.chown(path, self._user, -1)

    def url(self, direct: str) -> str:
        """Return the URL of the same database by way of PgBouncer."""
        parts = urlsplit(direct)
        return f"postgresql://{parts.username}@127.0.0.1:{self.port}{parts.path}"

    def start(self) -> None:
        """Start it; return once it lets clients in. Raises TimeoutError with its log if it does not."""
        self._process = subprocess.Popen(
            [self._program, "--quiet", str(self._folder / "pgbouncer.ini")],
            user=self._user,
            cwd=self._folder,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until(self._answers, "pgbouncer answers", patience=PATIENCE)
        except TimeoutError as error:
            raise TimeoutError(f"{error}:\n{(self._folder / 'log').read_text()}") from error

    def kill(self) -> None:
        """Kill it with SIGKILL: every client loses its connection, and the server its pooled sessions."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _answers(self) -> bool:
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(self.url("postgresql://postgres@/postgres"), connect_timeout=2).close()
            return True
        return False


@contextmanager
def own_bouncer(sockets: str, *, pool: int) -> Iterator[Bouncer]:
    """Start a PgBouncer for the server whose Unix socket is in the folder `sockets`; gone afterwards.

    Raises PackageMissing where there is none.
    """
    # Not in a folder of the caller's, which may be closed to the user that it runs as.
    with tempfile.TemporaryDirectory(prefix="conveyor-bouncer-") as folder:
        bouncer = Bouncer(sockets, Path(folder), pool=pool)
        bouncer.start()
        try:
            yield bouncer
        finally:
            bouncer.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
