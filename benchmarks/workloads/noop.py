"""(a) and (b): jobs that do nothing, so that what is measured is the queue."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from ..stage import Stage
from .base import Workload
from .drain import drain

SMALL: Final = 500
LARGE: Final = 20_000


def measure(stage: Stage, jobs: int) -> dict[str, Any]:
    """Work off jobs that do nothing."""
    stage.fresh()
    return drain(stage, "noop", jobs)


def _large(name: str, load: str, title: str) -> Workload:
    return Workload(name=name, title=title, load=load, measure=partial(measure, jobs=LARGE))


WORKLOADS: Final = (
    Workload(
        name="noop-500", title="500 jobs, 32 in flight (4 × 8, and each queue's best division)", load="4x8", pad=0,
        keys=False, measure=partial(measure, jobs=SMALL),
    ),
    _large("noop-32", "32", "20,000 jobs, 32 in flight"),
    _large("noop-1000", "1000", "20,000 jobs, 1,000 in flight"),
    _large("noop-best", "best", "20,000 jobs, each queue at its best settings"),
)  # fmt: skip
