"""What a fault works on: the server, the processes, the history so far, and a source of chance."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ..history.records import History
from ..support.processes import Process
from ..support.server import Server
from ..support.waits import wait_until
from .fleet import Fleet
from .workload import TICK

# Seconds that a fault waits for the run to go on; the machine may be busy.
PATIENCE: Final = 60.0


class Watch:
    """Reads a history while it is being written, each line once."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._rest = b""
        # The jobs of the workload that have begun; how many runs have; each run that goes on, as {(job, token): pid}.
        self.begun: set[int] = set()
        self.begins = 0
        self.running: dict[tuple[int, int], int] = {}

    def look(self) -> None:
        """Read what is new."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in lines:
            self._take(json.loads(line))

    def _take(self, record: dict[str, Any]) -> None:
        if record["event"] == "begin":
            if not record["name"].startswith(TICK):
                self.begun.add(record["job"])
            self.begins += 1
            self.running[record["job"], record["token"]] = record["pid"]
        elif record["event"] in {"end", "abort"}:
            self.running.pop((record["job"], record["token"]), None)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@dataclass(kw_only=True)
class Stage:
    """One run; a scenario changes `environment` before the processes start, and breaks things while they work.

    `environment` is that of workers, schedulers and producers alike; `folder` is for files of the run.
    """

    server: Server
    environment: dict[str, str]
    history: History
    watch: Watch
    chance: random.Random
    jobs: int
    seed: int
    folder: Path
    # Set when the processes are started: not where `around` has failed.
    fleet: Fleet = field(init=False)

    @property
    def started(self) -> list[Process]:
        """Every process that was started, as far as it came to that."""
        return self.fleet.everything if hasattr(self, "fleet") else []

    @property
    def half_way(self) -> Path:
        """The file that lets the producer go on to the second half of its plan."""
        return self.folder / "half-way"

    def wait_begun(self, least: float, most: float | None = None) -> None:
        """Wait until a share of the jobs has begun: `least`, or one between the two, by chance."""
        share = least if most is None else self.chance.uniform(least, most)
        self.wait_begun_jobs(round(share * self.jobs))

    def wait_begun_jobs(self, count: int) -> None:
        """Wait until so many jobs of the workload have begun; for as long as jobs go on to begin."""
        while (begun := len(self.watch.begun)) < count:
            self.wait(lambda begun=begun: len(self.watch.begun) > begun, f"{count} of {self.jobs} jobs have begun")

    def runs_of(self, pid: int) -> int:
        """Return how many runs go on in a process, as far as it was read."""
        return sum(1 for owner in self.watch.running.values() if owner == pid)

    def busiest_child(self) -> int:
        """Wait until a child of the fleet runs a job; return the pid of the one that runs the most."""
        self.wait(lambda: any(map(self.runs_of, self.fleet.children())), "a child runs a job")
        return max(self.fleet.children(), key=self.runs_of)

    @contextmanager
    def fault(self, what: str, **fields: Any) -> Iterator[None]:
        """Note a fault before the block, which injects and heals it, and `healed` behind it.

        The producer goes on to its second half: it enqueues while the fault lasts. `pids` names processes killed.
        """
        self.history.note("fault", what=what, **fields)
        self.half_way.touch()
        yield
        self.history.note("healed", what=what)

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until `condition` holds; the history is read before each look. Raises TimeoutError."""

        def holds() -> bool:
            self.watch.look()
            return condition()

        wait_until(holds, what, patience=PATIENCE)
