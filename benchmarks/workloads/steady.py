"""(h): the same load for minutes: whether memory, tables, indexes or the latency grow."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any, Final

from .. import recorder
from ..figures import latencies, lost_and_doubled, minutes, rate
from ..meters import ServerWork
from ..sizes import Sizes
from ..stage import Stage
from .base import Workload
from .drain import READY_SECONDS
from .latency import FIRST, WARM_UP, timed_runs, wait_until, warm_up
from .minutes import by_minute

# Who enqueues: one alone would be held to the rate at which one session commits.
PRODUCERS: Final = 4


def measure(stage: Stage, sizes: Sizes) -> dict[str, Any]:
    """Enqueue jobs one by one at a steady rate; look at memory, sizes and latencies minute by minute."""
    stage.fresh()
    each = int(sizes.steady_rate * sizes.steady * sizes.minute / PRODUCERS)
    jobs = each * PRODUCERS
    with stage.workers() as workers:
        warm_up(stage)
        before = ServerWork.of(stage.server, stage.databases)
        with ExitStack() as producers:
            for first in range(FIRST, FIRST + jobs, each):
                rate_of_one = sizes.steady_rate / PRODUCERS
                producers.enter_context(stage.beside("paced", first=first, count=each, rate=rate_of_one))
            wait_until(lambda: recorder.count(stage.records) > WARM_UP, READY_SECONDS)
            begin = time.time()
            found = by_minute(stage, workers, sizes.steady, sizes.minute)
            # Cut where not even several producers keep to the rate.
            was_cut = not wait_until(lambda: recorder.count(stage.records) >= WARM_UP + jobs, stage.cap)
        after = ServerWork.of(stage.server, stage.databases)
    runs = timed_runs(stage)
    lost, doubled = lost_and_doubled(range(FIRST, FIRST + jobs), runs)
    for minute, part in zip(found, minutes(runs, begin, sizes.minute), strict=False):
        minute.update(latencies(part))
    return {
        "jobs": jobs,
        "jobs_per_second": rate(len(runs), runs[-1].started - begin) if runs else 0.0,
        "was_cut": was_cut,
        "lost": 0 if was_cut else lost,
        "doubled": doubled,
        **latencies(runs),
        **after.since(before, jobs),
        "minutes": found,
    }


WORKLOADS: Final = (
    Workload(
        name="steady", title="{steady_rate} jobs/s for {steady} minutes", measure=measure, is_common=False,
        is_long=True, entrants=("conveyor@processes=2,concurrency=16",),
    ),
)  # fmt: skip
