"""The arithmetic: percentiles, rates, what was lost or doubled, and the spread over rounds. Pure."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from .recorder import Run

# What a run is compared to in the same round, where it took part: figure, its name as a share, the reference, and
# which of the entrant's options is to be equal to which of the reference's.
SHARES: Final = (
    ("jobs_per_second", "of_ceiling", "ceiling", (("processes", "processes"), ("concurrency", "batch"))),
    ("single_per_second", "of_bare", "bare", ()),
)


class Spread(NamedTuple):
    """A figure over the rounds."""

    least: float
    median: float
    most: float


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` (0 to 1) of the values do not exceed. Raises ValueError."""
    if not values:
        raise ValueError("no values have no percentile")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def rate(jobs: int, seconds: float) -> float:
    """Return jobs per second, to a tenth."""
    return round(jobs / max(seconds, 1e-9), 1)


def per_job(amount: float, jobs: int, digits: int = 3) -> float | None:
    """Return the amount per job; None where no job was done."""
    return round(amount / jobs, digits) if jobs else None


def latencies(runs: Iterable[Run]) -> dict[str, float]:
    """Return p50, p95, p99 and the longest time from enqueue to start, in milliseconds; nothing of no runs."""
    waits = [(run.started - run.enqueued) * 1e3 for run in runs]
    if not waits:
        return {}
    found = {f"p{round(share * 100)}_ms": percentile(waits, share) for share in (0.5, 0.95, 0.99)}
    return {name: round(value, 2) for name, value in (found | {"max_ms": max(waits)}).items()}


def lost_and_doubled(expected: Iterable[int], runs: Iterable[Run]) -> tuple[int, int]:
    """Return how many of the expected numbers never ran, and how many ran more than once."""
    ran = Counter(run.sequence for run in runs)
    return sum(1 for number in expected if not ran[number]), sum(1 for times in ran.values() if times > 1)


def spread(values: Iterable[float | None]) -> Spread | None:
    """Return least, median and most of the rounds' values that there are; None where there is none."""
    there = [value for value in values if value is not None]
    return Spread(min(there), statistics.median(there), max(there)) if there else None


def by_entrant(runs: Iterable[Mapping[str, Any]], workload: str) -> dict[str, list[Mapping[str, Any]]]:
    """Return the runs of a workload by entrant, in the order of their first."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        if run["workload"] == workload:
            found.setdefault(run["entrant"], []).append(run)
    return found


def with_shares(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the runs, Conveyor's each with the share of the reference's figure that it reached in the same round."""
    return [{**run, **dict(_shares(run, runs))} for run in runs]


def _shares(run: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    if run["peer"] != "conveyor":
        return
    for figure, name, reference, options in SHARES:
        for other in runs:
            if (
                other["peer"] == reference
                and all(run[same] == other[same] for same in ("workload", "round"))
                and all(run["options"].get(mine) == other["options"].get(its) for mine, its in options)
                and run.get(figure) and other.get(figure)
            ):  # fmt: skip
                yield name, round(run[figure] / other[figure], 3)


def minutes(runs: Sequence[Run], begin: float, length: float = 60.0) -> list[list[Run]]:
    """Return the runs by the minute (of `length` seconds) in which they started, counted from `begin` (Unix time)."""
    found: list[list[Run]] = []
    for run in runs:
        minute = max(0, int((run.started - begin) // length))
        found.extend([] for _ in range(minute + 1 - len(found)))
        found[minute].append(run)
    return found
