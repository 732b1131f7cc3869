"""A server that is ready for a run, made once in a process and copied for each run: initdb and migrate take seconds."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

import psycopg

from ..support.server import Server, own_server
from ..trace.log import install

# What handlers write; nothing but Conveyor keeps it from being written twice.
EFFECTS: Final = "CREATE TABLE test_effect (name text NOT NULL, job bigint NOT NULL, token bigint NOT NULL, step text)"


@contextmanager
def ready_server() -> Iterator[Server]:
    """Start a server with Conveyor's tables, a table for effects and the log of every transition; gone afterwards."""
    template = _template()
    # As own_server(): run by root, the server has a user of its own, who may enter this folder.
    with tempfile.TemporaryDirectory(prefix="conveyor-fault-") as folder:
        _copy(template, Path(folder) / "data")
        server = Server(Path(folder) / "data")
        try:
            yield server
        finally:
            server.close()


@cache
def _template() -> Path:
    """Return the data folder of a stopped server; it is removed when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="conveyor-template-"))
    atexit.register(shutil.rmtree, folder)
    with own_server(effects=EFFECTS) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            install(connection)
        server.stop()
        _copy(server.data, folder / "data")
    return folder / "data"


def _copy(source: Path, target: Path) -> None:
    """Copy a stopped server's data with its owner, without the list of the processes that use it."""
    subprocess.run(["cp", "-a", source, target], check=True)
    (target / ".handle_pids.json").unlink(missing_ok=True)
