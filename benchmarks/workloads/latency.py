"""(c): from the call of enqueue to the start of the handler, at 100 jobs a second: idle, and during a burst."""

from __future__ import annotations

import time
from typing import Any, Final

from .. import recorder
from ..figures import latencies, lost_and_doubled
from ..stage import Stage
from .base import Workload

RATE: Final = 100
JOBS: Final = 1_000
WARM_UP: Final = 20
BURST: Final = 20_000
# The numbers of the jobs that are timed; the others are below.
FIRST: Final = 1_000_000
READY_SECONDS: Final = 40.0


def measure_idle(stage: Stage) -> dict[str, Any]:
    """Time jobs that find every worker idle."""
    return _measure(stage, burst=0)


def measure_burst(stage: Stage) -> dict[str, Any]:
    """Time jobs that come while many others, enqueued at once before them, are worked off from the same queue."""
    return _measure(stage, burst=BURST)


def _measure(stage: Stage, burst: int) -> dict[str, Any]:
    stage.fresh()
    with stage.workers():
        # The first jobs find workers that are still starting.
        stage.call("bulk", count=WARM_UP)
        _wait_for(stage, WARM_UP, READY_SECONDS)
        time.sleep(2.0)
        if burst:
            stage.call("bulk", first=WARM_UP, count=burst)
        stage.call("paced", first=FIRST, count=JOBS, rate=RATE)
        _wait_for(stage, WARM_UP + burst + JOBS, stage.cap)
    runs = recorder.runs(stage.records)
    timed = [run for run in runs if run.sequence >= FIRST]
    lost, doubled = lost_and_doubled(range(FIRST, FIRST + JOBS), timed)
    return {"jobs": JOBS, "started": len(timed), "lost": lost, "doubled": doubled, **latencies(timed)}


def _wait_for(stage: Stage, runs: int, seconds: float) -> None:
    until = time.monotonic() + seconds
    while recorder.count(stage.records) < runs and time.monotonic() < until:
        time.sleep(0.02)


WORKLOADS: Final = (
    Workload(name="latency-idle", title="start latency, workers idle", load="idle", measure=measure_idle),
    Workload(name="latency-burst", title="start latency, 20,000 jobs before", load="idle", measure=measure_burst),
)
