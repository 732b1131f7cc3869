"""Processor time of a client's thread and of its server process: steadier than rates where others use the machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple


class Cost(NamedTuple):
    """Seconds on a processor."""

    client: float
    server: float


class Clock:
    """Collects what rounds of the same work cost, per piece."""

    def __init__(self) -> None:
        self.costs: list[Cost] = []

    @contextmanager
    def round(self, backend_pid: int, pieces: int) -> Iterator[None]:
        """Measure a round of so many pieces, in this thread and in that server process (Linux, proc(5))."""
        schedule = Path(f"/proc/{backend_pid}/schedstat")
        server, client = _seconds(schedule), time.thread_time()
        yield
        client, server = time.thread_time() - client, _seconds(schedule) - server
        self.costs.append(Cost(client / pieces, server / pieces))

    def __str__(self) -> str:
        sides = {"client": [cost.client for cost in self.costs], "server": [cost.server for cost in self.costs]}
        return "; ".join(f"{side} {_figures(seconds)}" for side, seconds in sides.items())


def _figures(seconds: Iterable[float]) -> str:
    microseconds = [1e6 * second for second in seconds]
    return f"{min(microseconds):.0f} µs least, {statistics.median(microseconds):.0f} median"


def _seconds(schedule: Path) -> float:
    return int(schedule.read_text().split()[0]) / 1e9
