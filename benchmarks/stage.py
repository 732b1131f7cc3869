"""One run's stage: fresh databases, the entrant's own commands, and workers that do not outlive it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil
import psycopg

from . import recorder
from .catalog import Entrant
from .environments import Environments
from .meters import ServerWork, family
from .peers.base import KEYS_VARIABLE, PAD_VARIABLE, URL_VARIABLE
from .redis import Redis
from .server import Server

Connections = list[psycopg.Connection[tuple[Any, ...]]]

ROOT: Final = Path(__file__).parent.parent
DATABASES: Final = ("bench", "bench_other")
# How long a command may take, but for workers and what runs beside them, in seconds.
CALL_SECONDS: Final = 3600.0


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
        retention: float = 60.0,
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
        self._retention = retention

    @property
    def databases(self) -> tuple[str, ...]:
        """The names of the run's databases."""
        return DATABASES[: self.entrant.databases]

    def fresh(self) -> None:
        """Make the databases and the queue's schema anew; from the second time on as copies of what setup has made."""
        label = self.entrant.label
        # What is set up in Redis cannot be copied.
        if self.entrant.peer.needs_redis or not all(self.server.restore(each, label) for each in self.databases):
            for database in self.databases:
                self.server.recreate(database)
            self.call("setup")
            for database in self.databases:
                self.server.keep(database, label)
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
        """Run a command of the entrant beside what the block does; it is ended with the block.

        Raises RuntimeError if it has failed by then.
        """
        with self._log.open("ab") as log:
            process = self._start(self._command(command, **arguments), self.environment(), log)
        try:
            yield process
            if process.poll():
                raise RuntimeError(f"{command} of {self.entrant.label} failed with {process.returncode}")
        finally:
            end([process])

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
                end(workers)

    @contextmanager
    def watching(self) -> Iterator[Connections]:
        """Have a connection to each of the databases, to look at them."""
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(self.server.connect(database)) for database in self.databases]

    def pending(self, connections: Connections) -> int:
        """Return how many jobs are not durably complete."""
        if self.entrant.peer.pending is None:
            return self.redis.pending()
        found = [connection.execute(self.entrant.peer.pending).fetchone() for connection in connections]
        return sum(int(row[0]) for row in found if row)

    def work_done(self, workers: Iterable[psutil.Process]) -> ServerWork:
        """Return the server's counters as of now: the workers are frozen, and do nothing more.

        Ending their sessions makes these report what they have done.
        """
        freeze(workers)
        for database in self.databases:
            self.server.end_sessions(database)
        return ServerWork.of(self.server, self.databases)

    def environment(self) -> dict[str, str]:
        """Return the variables of the entrant's processes."""
        own = {
            URL_VARIABLE: self.server.url(DATABASES[0]),
            PAD_VARIABLE: str(self._pad),
            KEYS_VARIABLE: "1" if self._keys else "",
            recorder.FOLDER_VARIABLE: str(self.records),
            "BENCHMARK_REDIS": self.redis.url,
            "BENCHMARK_DJANGO": "conveyor",
            "BENCHMARK_RETENTION": str(self._retention),
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


def freeze(processes: Iterable[psutil.Process]) -> None:
    """Stop the processes and their descendants where they are."""
    for process in processes:
        for one in family(process):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.suspend()


def end(processes: Iterable[psutil.Popen]) -> None:
    """Kill the processes and their descendants: what is left of a run would work off a later one's jobs.

    They are frozen first, so that no supervisor starts a new child meanwhile.
    """
    started = list(processes)
    freeze(started)
    for process in started:
        for one in family(process):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        # Of one that had ended before, whatever it has left behind in its session.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
