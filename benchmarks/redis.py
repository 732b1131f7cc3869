"""Celery's broker: a redis-server of the benchmarks' own, where that program is installed."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from types import TracebackType
from typing import Final, Self

HOST: Final = "127.0.0.1"
PROGRAM: Final = "redis-server"
START_SECONDS: Final = 10.0


class Redis:
    """Without files, which is its fastest; starts nothing where it is not installed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def is_there(self) -> bool:
        """Whether it runs."""
        return self._process is not None

    @property
    def version(self) -> str:
        """What the program says of itself; nothing where it does not run."""
        if not self.is_there:
            return ""
        said = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True)
        return said.stdout.strip()

    @property
    def url(self) -> str:
        """Its URL, of which nothing comes where it does not run."""
        return f"redis://{HOST}:{self._port}/0"

    def __enter__(self) -> Self:
        """Start it, if it is installed. Raises TimeoutError if it does not answer."""
        if (program := shutil.which(PROGRAM)) is None:
            return self
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            self._port = probe.getsockname()[1]
        command = [
            program, "--bind", HOST, "--port", str(self._port), "--save", "", "--appendonly", "no",
            "--dir", tempfile.gettempdir(),
        ]  # fmt: skip
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                self._ask("PING")
            except OSError:
                if time.monotonic() > until:
                    raise TimeoutError(f"{PROGRAM} does not answer") from None
                time.sleep(0.05)
            else:
                return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def pending(self) -> int:
        """Return how many messages wait in Celery's queues or are not acknowledged."""
        return sum(int(self._ask(command)) for command in ("LLEN celery", "LLEN background", "HLEN unacked"))

    def _ask(self, command: str) -> str:
        """Return the answer to an inline command, without the mark of its type."""
        with socket.create_connection((HOST, self._port), timeout=1.0) as connection:
            connection.sendall(f"{command}\r\n".encode())
            return connection.makefile().readline().strip()[1:]
