"""(c): from the call of enqueue to the start of the handler, at 100 jobs a second: idle, and during a burst.

The jobs of the burst are of a lower priority, or in a queue of their own where there are no priorities: what is timed
is how soon an urgent job gets its turn while every slot is taken, not how long the line before it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from .. import recorder
from ..figures import latencies, lost_and_doubled
from ..gate import Gate
from ..recorder import Run
from ..sizes import Sizes
from ..stage import Stage
from .base import Workload
from .drain import READY_SECONDS

WARM_UP: Final = 20
# The numbers of the jobs that are timed; the others are below.
FIRST: Final = 100_000_000
# So that workers which have just started a handler are idle again.
REST_SECONDS: Final = 2.0
LOOK_SECONDS: Final = 0.02


def measure_idle(stage: Stage, sizes: Sizes) -> dict[str, Any]:
    """Time jobs that find every worker idle."""
    stage.fresh()
    with stage.workers():
        warm_up(stage)
        time.sleep(REST_SECONDS)
        stage.call("paced", first=FIRST, count=sizes.timed, rate=sizes.rate)
        wait_until(lambda: recorder.count(stage.records) >= WARM_UP + sizes.timed, stage.cap)
    timed = timed_runs(stage)
    return {**_figures(timed, sizes.timed), **latencies(timed)}


def measure_burst(stage: Stage, sizes: Sizes) -> dict[str, Any]:
    """Time jobs that come while many others, which were enqueued before them, are worked off by the same workers."""
    stage.fresh()
    stage.call("bulk", count=sizes.burst, background=1)
    with stage.workers() as workers, Gate(stage.records) as gate, stage.watching() as connections:
        gate.gather(stage.entrant.processes, workers, READY_SECONDS)
        with stage.beside("paced", first=FIRST, count=sizes.timed, rate=sizes.rate):
            # The burst begins when the first of the timed jobs is there.
            wait_until(lambda: stage.pending(connections) > sizes.burst, READY_SECONDS)
            begin = gate.open()
            wait_until(lambda: len(timed_runs(stage)) >= sizes.timed, stage.cap + sizes.timed / sizes.rate)
    timed = timed_runs(stage)
    last = max(run.started for run in recorder.each(stage.records) if run.sequence < FIRST)
    beside = during(timed, begin, last)
    return {**_figures(timed, sizes.timed), "beside": len(beside), **latencies(beside)}


def during(runs: Sequence[Run], begin: float, end: float) -> list[Run]:
    """Return the runs that were enqueued between two moments (Unix time)."""
    return [run for run in runs if begin <= run.enqueued <= end]


def timed_runs(stage: Stage) -> list[Run]:
    """Return the runs of the timed jobs, in the order of their starts."""
    return [run for run in recorder.runs(stage.records) if run.sequence >= FIRST]


def warm_up(stage: Stage) -> None:
    """Have the workers do a few jobs: the first find them still starting. Raises TimeoutError if they don't start."""
    stage.call("bulk", count=WARM_UP)
    if not wait_until(lambda: recorder.count(stage.records) >= WARM_UP, READY_SECONDS):
        raise TimeoutError(f"{stage.entrant.label} has not done {WARM_UP} jobs in {READY_SECONDS:g} s")


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until the condition holds, for at most `seconds`; say whether it does."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(LOOK_SECONDS)
    return True


def _figures(timed: Sequence[Run], jobs: int) -> dict[str, Any]:
    lost, doubled = lost_and_doubled(range(FIRST, FIRST + jobs), timed)
    return {"jobs": jobs, "lost": lost, "doubled": doubled}


WORKLOADS: Final = (
    Workload(
        name="latency-idle", title="start latency, workers idle", load="idle", is_short=True, measure=measure_idle
    ),
    Workload(
        name="latency-burst", title="start latency during a burst of {burst:,} jobs", load="idle",
        measure=measure_burst,
    ),
)  # fmt: skip
