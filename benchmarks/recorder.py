"""The handlers' own record of what ran and when: outside of the database, in memory-mapped files, one per process.

Only the standard library is used: every peer's environment imports this.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

FOLDER_VARIABLE: Final = "BENCHMARK_RECORDS"
# A file in the folder of the records, where a run has one: whoever holds its lock keeps every handler waiting.
GATE: Final = "gate"
# At most so many runs per process. The file is sparse: what is not written takes no space.
CAPACITY: Final = 5_000_000

_COUNT: Final = struct.Struct("<q")
_RUN: Final = struct.Struct("<qdd")


class Run(NamedTuple):
    """One start of a handler: its job's number, when that was enqueued and when it started (Unix time)."""

    sequence: int
    enqueued: float
    started: float


class Recorder:
    """Writes this process's record; to note a run takes about a microsecond."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._pid = 0
        self._count = 0
        self._map: mmap.mmap
        self._is_through = False

    def note(self, sequence: int, enqueued: float) -> None:
        """Record that a handler has started, now; the first of a process then wait at the gate."""
        self._write(sequence, enqueued)
        if not self._is_through:
            wait_at(self._folder / GATE)
            self._is_through = True

    def _write(self, sequence: int, enqueued: float) -> None:
        with self._lock:
            # A forked child has a file of its own.
            if self._pid != os.getpid():
                self._open()
            _RUN.pack_into(self._map, _COUNT.size + _RUN.size * self._count, sequence, enqueued, time.time())
            self._count += 1
            _COUNT.pack_into(self._map, 0, self._count)

    def _open(self) -> None:
        self._pid, self._count, self._is_through = os.getpid(), 0, False
        with (self._folder / f"{self._pid}.runs").open("w+b") as file:
            file.truncate(_COUNT.size + _RUN.size * CAPACITY)
            self._map = mmap.mmap(file.fileno(), 0)


_recorder: list[Recorder] = []


def note(sequence: int, enqueued: float) -> None:
    """Record, in the folder that the environment names, that a handler has started, now."""
    if not _recorder:
        _recorder.append(Recorder(Path(os.environ[FOLDER_VARIABLE])))
    _recorder[0].note(sequence, enqueued)


def wait_at(gate: Path) -> None:
    """Wait until nobody holds the gate; at once where there is none."""
    try:
        file = gate.open("rb")
    except FileNotFoundError:
        return
    # A lock and not a look now and then: all are let through in the same moment, and if the runner dies, too.
    with file:
        fcntl.flock(file, fcntl.LOCK_SH)


def count(folder: Path) -> int:
    """Return how many runs all processes have recorded so far."""
    return sum(_counted(file) for file in folder.glob("*.runs"))


def processes(folder: Path) -> int:
    """Return how many processes have recorded a run so far."""
    return sum(1 for file in folder.glob("*.runs") if _counted(file))


def runs(folder: Path) -> list[Run]:
    """Return what all processes have recorded, in the order of the starts."""
    return sorted(each(folder), key=lambda run: run.started)


def each(folder: Path) -> Iterator[Run]:
    """Yield what all processes have recorded, one process after the other: also where it is too much for a list."""
    for path in folder.glob("*.runs"):
        with path.open("rb") as file:
            file.seek(_COUNT.size)
            data = file.read(_RUN.size * _counted(path))
        yield from map(Run._make, _RUN.iter_unpack(data))


def _counted(path: Path) -> int:
    with path.open("rb") as file:
        head = file.read(_COUNT.size)
    # A file that was opened this instant is still empty.
    return int(_COUNT.unpack(head)[0]) if len(head) == _COUNT.size else 0
