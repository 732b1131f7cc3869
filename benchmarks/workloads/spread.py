"""(i) and (j): more processes, a second database, many queues, exact caps."""

from __future__ import annotations

from typing import Final

from .base import Workload
from .noop import measure_large

_TWO: Final = "conveyor@processes=2,concurrency=16"

WORKLOADS: Final = (
    Workload(
        name="processes", title="{large:,} jobs by 1, 2, 4 and 8 processes of 16", measure=measure_large,
        is_common=False,
        entrants=tuple(
            text for count in (1, 2, 4, 8)
            for text in (f"conveyor@processes={count},concurrency=16", f"ceiling@processes={count},batch=16")
        ),
    ),
    Workload(
        name="databases", title="{large:,} jobs in one database and in two, with as many processes and with twice",
        measure=measure_large, is_common=False,
        entrants=(_TWO, "conveyor@processes=1,concurrency=16,databases=2", f"{_TWO},databases=2"),
    ),
    # The cap is what is in flight at most: it has to be kept, and keeps nobody waiting.
    Workload(
        name="queues", title="{large:,} jobs in one queue and in 100, without and with exact caps",
        measure=measure_large, is_common=False,
        entrants=(_TWO, f"{_TWO},queues=100", f"{_TWO},cap=32", f"{_TWO},queues=100,cap=32"),
    ),
)  # fmt: skip
