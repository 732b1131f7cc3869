"""(a) and (b): jobs that do nothing, so that what is measured is the queue."""

from __future__ import annotations

from typing import Any, Final

from ..sizes import Sizes
from ..stage import Stage
from .base import Workload
from .drain import drain


def measure_small(stage: Stage, sizes: Sizes) -> dict[str, Any]:
    """Work off few jobs that do nothing."""
    stage.fresh()
    return drain(stage, "noop", sizes.small)


def measure_large(stage: Stage, sizes: Sizes) -> dict[str, Any]:
    """Work off many jobs that do nothing."""
    stage.fresh()
    return drain(stage, "noop", sizes.large)


WORKLOADS: Final = (
    Workload(
        name="noop-500", title="{small:,} jobs, 32 in flight (4 × 8, and each queue's best division)", load="4x8",
        pad=0, keys=False, is_short=True, measure=measure_small,
    ),
    Workload(name="noop-32", title="{large:,} jobs, 32 in flight", is_short=True, measure=measure_large),
    Workload(name="noop-1000", title="{large:,} jobs, 1,000 in flight", load="1000", measure=measure_large),
    Workload(
        name="noop-best", title="{large:,} jobs, each queue at its best settings", load="best", measure=measure_large
    ),
)  # fmt: skip
