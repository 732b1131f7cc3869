"""``python -m tests.faults.producer``: enqueue a plan, with keys, again and again until each job is accepted.

What a project's web processes do. An enqueue that raised may have committed all the same: it is repeated with the same
keys, which must be harmless (P3).
"""

from __future__ import annotations

import argparse
import threading
import time
from pathlib import Path
from typing import Final

import django

PEEK_SECONDS: Final = 0.01


def main() -> None:
    """Read the command line and enqueue."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.producer")
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True, help="Jobs per second.")
    parser.add_argument("--plain", action="store_true", help="No caps, no keys.")
    parser.add_argument("--only", nargs="*", default=[], help="Kinds of jobs; default: all of them, and graphs.")
    parser.add_argument("--newcomers", type=int, default=0, help="Jobs of a task that only newer code knows, last.")
    parser.add_argument("--half-way", type=Path, help="Wait for this file after the first half.")
    given = parser.parse_args()
    django.setup()

    from .enqueuing import Enqueuing
    from .workload import Single, plan

    producer = Enqueuing()
    if not given.plain:
        producer.set_caps()
    items = list(plan(given.jobs - given.newcomers, given.seed, capped=not given.plain, only=given.only))
    items += [Single(f"{given.jobs - n:05}-newcomer", "newcomer", 20) for n in range(given.newcomers, 0, -1)]
    clock = _Clock(given.rate)
    for done, item in enumerate(items):
        if given.half_way and done == len(items) // 2:
            _wait_for(given.half_way)
            clock = _Clock(given.rate)
        clock.wait(len(item.names))
        producer.enqueue(item)


class _Clock:
    """Spreads the jobs over time; what was late is made up for."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._began = time.monotonic()
        self._jobs = 0

    def wait(self, jobs: int) -> None:
        """Wait until the next `jobs` are due."""
        due = self._began + self._jobs / self._rate
        time.sleep(max(0.0, due - time.monotonic()))  # the producer's rate: what it enqueues is not due yet
        self._jobs += jobs


def _wait_for(path: Path) -> None:
    never = threading.Event()
    while not path.exists():
        never.wait(PEEK_SECONDS)


if __name__ == "__main__":
    main()
