"""One run's stage: a fresh database, the entrant's own commands, and workers that do not outlive it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil
import psycopg

from . import recorder
from .catalog import Entrant
from .environments import Environments
from .peers.base import KEYS_VARIABLE, PAD_VARIABLE, URL_VARIABLE
from .redis import Redis
from .server import Server

ROOT: Final = Path(__file__).parent.parent
DATABASES: Final = ("bench", "bench_other")
# How long a worker that was asked to stop may take, and an enqueue, in seconds.
STOP_SECONDS: Final = 5.0
CALL_SECONDS: Final = 900.0


class Stage:
    """Runs one entrant on the server; `folder` gets the record and the log, `pad` is the size of the payload."""

    def __init__(
        self,
        server: Server,
        environments: Environments,
        folder: Path,
        entrant: Entrant,
        *,
        redis: Redis,
        cap: float = 30.0,
        pad: int = 0,
        keys: bool = False,
    ) -> None:
        self.server = server
        self.entrant = entrant
        self.redis = redis
        # After so many seconds a run is cut, and counted by what is complete.
        self.cap = cap
        self.records = folder / "records"
        self._log = folder / f"{entrant.peer.name}.log"
        self._python = environments.interpreter(entrant.peer)
        self._keys = keys
        self._pad = pad

    @property
    def databases(self) -> tuple[str, ...]:
        """The names of the run's databases."""
        return DATABASES[: int(self.entrant.options.get("databases", 1))]

    def fresh(self) -> None:
        """Make the databases and the queue's schema anew."""
        for database in self.databases:
            self.server.recreate(database)
        self.call("setup")
        self.settle()

    def settle(self) -> None:
        """Have no run pay for what was before it."""
        for database in self.databases:
            self.server.settle(database)

    def call(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Run a command of the entrant and return what it printed. Raises CalledProcessError, TimeoutExpired."""
        with self._log.open("ab") as log:
            done = subprocess.run(
                self._command(command, **arguments), env=self.environment(), cwd=ROOT, check=True,
                stdout=subprocess.PIPE, stderr=log, text=True, timeout=CALL_SECONDS,
            )  # fmt: skip
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        return dict(json.loads(lines[-1])) if lines else {}

    @contextmanager
    def beside(self, command: str, **arguments: Any) -> Iterator[psutil.Popen]:
        """Run a command of the entrant beside what the block does; it is ended with the block."""
        with self._log.open("ab") as log:
            process = self._start(self._command(command, **arguments), self.environment(), log)
        try:
            yield process
        finally:
            _end([process])

    @contextmanager
    def workers(self) -> Iterator[list[psutil.Popen]]:
        """Run the entrant's worker commands while the block does its part; the record begins anew."""
        shutil.rmtree(self.records, ignore_errors=True)
        self.records.mkdir(parents=True)
        command = self._command("work", concurrency=self.entrant.options.get("concurrency", 32))
        workers: list[psutil.Popen] = []
        with self._log.open("ab") as log:
            try:
                for alias in ("default", "other")[: len(self.databases)]:
                    environment = self.environment() | {"BENCHMARK_ALIAS": alias}
                    workers += [self._start(command, environment, log) for _ in range(self.entrant.commands)]
                yield workers
            finally:
                _end(workers)

    @contextmanager
    def watching(self) -> Iterator[list[psycopg.Connection[tuple[Any, ...]]]]:
        """Have a connection to each of the databases, to look at them."""
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(self.server.connect(database)) for database in self.databases]

    def pending(self, connections: list[psycopg.Connection[tuple[Any, ...]]]) -> int:
        """Return how many jobs are not durably complete."""
        if self.entrant.peer.pending is None:
            return self.redis.pending()
        found = [connection.execute(self.entrant.peer.pending).fetchone() for connection in connections]
        return sum(int(row[0]) for row in found if row)

    def environment(self) -> dict[str, str]:
        """Return the variables of the entrant's processes."""
        own = {
            URL_VARIABLE: self.server.url(DATABASES[0]),
            PAD_VARIABLE: str(self._pad),
            KEYS_VARIABLE: "1" if self._keys else "",
            recorder.FOLDER_VARIABLE: str(self.records),
            "BENCHMARK_REDIS": self.redis.url,
            "BENCHMARK_DJANGO": "conveyor",
            "DJANGO_SETTINGS_MODULE": "benchmarks.project.settings",
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "ignore",
        }
        if len(self.databases) == len(DATABASES):
            own["BENCHMARK_OTHER_URL"] = self.server.url(DATABASES[1])
        return os.environ | own

    def _command(self, command: str, **arguments: Any) -> list[str]:
        module = self.entrant.peer.module or self.entrant.peer.name
        options = [text for name, value in arguments.items() for text in (f"--{name}", str(value))]
        given = json.dumps(dict(self.entrant.options))
        return [str(self._python), "-m", f"benchmarks.peers.{module}", command, "--options", given, *options]

    def _start(self, command: list[str], environment: dict[str, str], log: Any) -> psutil.Popen:
        # A session of its own, so that it can be ended with all that it has started.
        return psutil.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)


def _end(processes: list[psutil.Popen]) -> None:
    """Ask them to stop, and kill what is left of their sessions: it would work off a later run's jobs."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
    psutil.wait_procs(processes, timeout=STOP_SECONDS)
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
