"""(g): an old snapshot is held open under load, beside the same load without it.

Vacuum may then not remove what is dead, and every walk over an index meets it again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from .. import recorder
from ..figures import lost_and_doubled, rate
from ..meters import ServerWork
from ..sizes import Sizes
from ..stage import Stage
from .base import Workload
from .drain import READY_SECONDS
from .latency import wait_until
from .minutes import by_minute


def measure(stage: Stage, sizes: Sizes) -> dict[str, Any]:
    """Work at full load, minute by minute; with the option `snapshot` = "held" under an old snapshot."""
    stage.fresh()
    is_held = stage.entrant.options.get("snapshot") == "held"
    with stage.workers() as workers:
        with stage.beside("feed", ahead=sizes.ahead):
            # The workers are at work before the first minute begins.
            if not wait_until(lambda: recorder.count(stage.records) >= sizes.ahead, READY_SECONDS):
                raise TimeoutError(f"{stage.entrant.label} has not done {sizes.ahead} jobs in {READY_SECONDS:g} s")
            with _snapshot(stage, is_held=is_held):
                before, begin, started = _work(stage)
                minutes = by_minute(stage, workers, sizes.held, sizes.minute)
                after, end, all_started = _work(stage)
        left = _finish(stage)
    doubled, lost = _doubled_and_lost(stage)
    return {
        "jobs": all_started - started,
        "jobs_per_second": rate(all_started - started, end - begin),
        "left": left,
        "lost": 0 if left else lost,
        "doubled": doubled,
        **after.since(before, all_started - started),
        "minutes": minutes,
    }


@contextmanager
def _snapshot(stage: Stage, *, is_held: bool) -> Iterator[None]:
    """Hold a snapshot of the jobs' database while the block does its part, if it is to be held."""
    if not is_held:
        yield
        return
    with stage.server.connect(stage.databases[0]) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with connection.transaction():
            # A transaction has no snapshot before its first read.
            connection.execute("SELECT count(*) FROM effects")
            yield


def _work(stage: Stage) -> tuple[ServerWork, float, int]:
    return ServerWork.of(stage.server, stage.databases), time.monotonic(), recorder.count(stage.records)


def _finish(stage: Stage) -> int:
    """Have the workers do what still waits, for at most the cap; return what is left."""
    with stage.watching() as connections:
        wait_until(lambda: not stage.pending(connections), stage.cap)
        return stage.pending(connections)


def _doubled_and_lost(stage: Stage) -> tuple[int, int]:
    """Return what ran twice, and what never ran of the numbers below the highest: they were enqueued in order."""
    highest = max(run.sequence for run in recorder.each(stage.records))
    lost, doubled = lost_and_doubled(range(highest + 1), recorder.each(stage.records))
    return doubled, lost


WORKLOADS: Final = (
    Workload(
        name="snapshot", title="an old snapshot held for {held} minutes, and none", measure=measure, is_common=False,
        is_long=True,
        entrants=("conveyor@processes=2,concurrency=16", "conveyor@processes=2,concurrency=16,snapshot=held"),
    ),
)  # fmt: skip
