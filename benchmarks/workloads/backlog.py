"""(f): claims where a thousand jobs wait, and where a million do.

The ceiling's bare loop shows the claims themselves, one after the other, with as many jobs put in line as were taken;
the worker does jobs of which the others stand behind.
"""

from __future__ import annotations

from typing import Any, Final

from .. import recorder
from ..figures import lost_and_doubled, percentile, rate
from ..sizes import Sizes
from ..stage import Stage
from .base import Workload
from .drain import figures, watch

# The numbers of what stands behind, and of what the ceiling puts in line.
BEHIND: Final = 1_000_000_000
ANEW: Final = 2_000_000_000


def measure(stage: Stage, sizes: Sizes) -> dict[str, Any]:
    """Time claims, or a worker, while as many jobs wait as the entrant's option `backlog` says."""
    stage.fresh()
    waiting = int(stage.entrant.options["backlog"])
    if stage.entrant.peer.name == "ceiling":
        stage.call("fill", first=BEHIND, count=waiting)
        stage.settle()
        return _claims(stage, sizes)
    stage.call("bulk", count=sizes.large)
    stage.call("fill", first=BEHIND, count=waiting)
    stage.settle()
    return _worker(stage, sizes, waiting)


def _claims(stage: Stage, sizes: Sizes) -> dict[str, Any]:
    times = stage.call("exchanges", first=ANEW, count=sizes.claims)
    claims, all_seconds = times["claim"], sum(times["claim"]) + sum(times["success"])
    return {
        "jobs": sizes.claims * stage.entrant.options["batch"],
        "jobs_per_second": rate(sizes.claims * stage.entrant.options["batch"], all_seconds),
        "claim_p50_ms": round(percentile(claims, 0.5) * 1e3, 3),
        "claim_p95_ms": round(percentile(claims, 0.95) * 1e3, 3),
    }


def _worker(stage: Stage, sizes: Sizes, waiting: int) -> dict[str, Any]:
    work = watch(stage, sizes.large, is_all=False)
    runs = [run for run in recorder.each(stage.records) if run.sequence < BEHIND]
    lost, doubled = lost_and_doubled(range(sizes.large), runs)
    return {
        "jobs": sizes.large,
        **figures(work, sizes.large + waiting - work.left),
        "lost": 0 if work.was_cut else lost,
        "doubled": doubled,
    }


WORKLOADS: Final = (
    Workload(
        name="backlog", title="a backlog of {few:,} and of {backlog:,}", measure=measure, is_common=False, is_long=True,
        entrants=(
            "ceiling@processes=1,batch=16,backlog={few}", "ceiling@processes=1,batch=16,backlog={backlog}",
            "conveyor@processes=2,concurrency=16,backlog={few}",
            "conveyor@processes=2,concurrency=16,backlog={backlog}",
        ),
    ),
)  # fmt: skip
