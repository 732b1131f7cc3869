"""The disk of the database is full: for tables that grow first, then for the write-ahead log."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg

from ...support.server import Server
from ...support.waits import wait_until
from ..packages import program
from ..stage import Stage
from ..variables import HISTORY
from .base import Scenario

SOURCE: Final = Path(__file__).parent.parent / "fulldisk.c"
FLAG: Final = "FULL_DISK"
# Segments of the write-ahead log that the server may have in store.
SEGMENTS: Final = 20
PATIENCE: Final = 60.0


class Disk:
    """A PostgreSQL whose files cannot grow while `flag` exists.

    Neither a file system of a small size nor a quota can be had without the right to mount; a preloaded library needs
    a C compiler alone, and what the server sees of it is the same error, of the same calls.
    """

    def __init__(self) -> None:
        self._flag: Path

    @contextmanager
    def around(self, stage: Stage) -> Iterator[None]:
        """Restart the server with the library."""
        with tempfile.TemporaryDirectory(prefix="conveyor-disk-") as folder:
            # It is the server's user that reads it.
            Path(folder).chmod(0o755)
            self._flag = Path(folder) / "full"
            stage.server.stop()
            with _preloaded(_compiled(Path(folder)), self._flag):
                stage.server.start()
            yield

    def strike(self, stage: Stage) -> None:
        """Fill the disk until tables cannot grow, and then the log; free it; start the server if it went down."""
        stage.wait_begun(0.1, 0.3)
        with stage.fault("the disk is full"):
            self._flag.touch()
            stage.wait(lambda: _has_been_told(stage), "somebody was told that the disk is full")
            _use_up_the_log(stage.server)
            self._flag.unlink()
            _bring_up(stage.server)


@contextmanager
def _preloaded(library: Path, flag: Path) -> Iterator[None]:
    """Let processes that are started inside the block have the library."""
    added = {"LD_PRELOAD": str(library), FLAG: str(flag)}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def _compiled(folder: Path) -> Path:
    """Compile the library. Raises PackageMissing where there is no C compiler."""
    library = folder / "fulldisk.so"
    subprocess.run([program("cc", "gcc"), "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return library


def _has_been_told(stage: Stage) -> bool:
    """Say whether a client of the server has seen the error."""
    told = "No space left on device"
    return told in Path(stage.environment[HISTORY]).read_text() or any(
        told in process.dump() for process in stage.fleet.everything
    )


def _use_up_the_log(server: Server) -> None:
    """Begin one segment of the log after the other until the server cannot."""
    for _ in range(SEGMENTS):
        try:
            server.execute("SELECT pg_logical_emit_message(true, 'fault', 'full'); SELECT pg_switch_wal()")
        except psycopg.OperationalError:
            return
    raise AssertionError(f"the write-ahead log has grown by {SEGMENTS} segments on a full disk")


def _bring_up(server: Server) -> None:
    """Wait until the server has recovered, or start it if it has given up."""
    wait_until(lambda: _answers(server) or not server.is_running, "the server is up or down", patience=PATIENCE)
    if not server.is_running:
        server.start()


def _answers(server: Server) -> bool:
    try:
        return server.rows("SELECT 1") == [(1,)]
    except psycopg.OperationalError:
        return False


DISK = Disk()
SCENARIOS = [
    Scenario(
        name="disk-full", what="no file of the database can grow, the write-ahead log included",
        strike=DISK.strike, around=DISK.around,
    ),
]  # fmt: skip
