"""What a long run is like minute by minute."""

from __future__ import annotations

import time
from typing import Any

import psutil

from .. import recorder
from ..figures import rate
from ..meters import megabytes, resident_bytes, sizes
from ..stage import Stage


def by_minute(stage: Stage, workers: list[psutil.Popen], minutes: int, length: float) -> list[dict[str, Any]]:
    """Look once a minute (of `length` seconds); return the rate of each, and the sizes at its end.

    Raises RuntimeError if the workers end.
    """
    found = []
    begin = last = time.monotonic()
    before = recorder.count(stage.records)
    for minute in range(1, minutes + 1):
        time.sleep(max(0.0, begin + minute * length - time.monotonic()))
        now, started = time.monotonic(), recorder.count(stage.records)
        if any(worker.poll() is not None for worker in workers):
            raise RuntimeError(f"a worker of {stage.entrant.label} has ended in minute {minute}")
        found.append(
            {
                "minute": minute,
                "jobs_per_second": rate(started - before, now - last),
                "resident_mb": megabytes(resident_bytes(workers)),
                **sizes(stage.server, stage.databases),
            }
        )
        last, before = now, started
    return found
