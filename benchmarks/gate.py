"""The common start of a run: no process of a worker gets further than its first handler before all have come there.

Processes import for a second or so, and not for the same time: without a gate the first would work alone for longer
than 500 jobs take, and how unlike the starts are would be measured instead of the queue.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psutil

from . import recorder

# How often it is looked whether all have come, in seconds.
LOOK_SECONDS: Final = 0.002


class Gate:
    """Closed on entering, by a lock on a file in the folder of the records."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> Self:
        """Close it."""
        self._file = (self._folder / recorder.GATE).open("wb")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let through whoever waits still."""
        self._file.close()

    def gather(self, processes: int, workers: Sequence[psutil.Popen], seconds: float) -> None:
        """Wait until so many processes have started a handler. Raises RuntimeError if they don't within `seconds`."""
        until = time.monotonic() + seconds
        while (there := recorder.processes(self._folder)) < processes:
            if ended := [worker.returncode for worker in workers if worker.poll() is not None]:
                raise RuntimeError(f"workers have ended before a handler started in each, with {ended}")
            if time.monotonic() > until:
                raise RuntimeError(f"of {processes} processes {there} have started a handler in {seconds:g} s")
            time.sleep(LOOK_SECONDS)

    def open(self) -> float:
        """Open it; return the moment (Unix time)."""
        moment = time.time()
        fcntl.flock(self._file, fcntl.LOCK_UN)
        return moment
