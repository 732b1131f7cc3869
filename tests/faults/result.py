"""What a run has shown, and what follows from its history."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import django
import psycopg

import conveyor_django

Record = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Seconds: the median, the 95th percentile and the longest of so many; all None where there is none."""

    count: int
    p50: float | None
    p95: float | None
    longest: float | None

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Spread:
        """Return the spread of these, by nearest rank."""
        ordered = sorted(seconds)

        def rank(share: float) -> float | None:
            return round(ordered[math.ceil(share * len(ordered)) - 1], 3) if ordered else None

        return cls(count=len(ordered), p50=rank(0.5), p95=rank(0.95), longest=rank(1.0))


@dataclass(frozen=True, kw_only=True)
class Result:
    """One run. `jobs` were offered; the counts of jobs are without those of the cron entry, which are `ticks`.

    `recovery`: seconds from the first fault to the last end of a run. `victims`: seconds from a kill -9 to the next
    begin of each job that ran in a killed process. `violations` are the judge's, `refusal` is the trace checker's, and
    `complaints` what else is not as it should be at the end.
    """

    scenario: str
    what: str
    jobs: int
    seed: int
    accepted: int
    succeeded: int
    failed: int
    refused: int
    begins: int
    lost: int
    ticks: int
    seconds: float
    recovery: float | None
    victims: Spread
    faults: list[str]
    schedule: list[str]
    violations: list[str]
    refusal: str | None
    complaints: list[str]
    versions: dict[str, str]

    @property
    def is_good(self) -> bool:
        """Whether every job has succeeded, and nothing was seen that must not be."""
        return self.accepted == self.succeeded == self.jobs and not self.wrong

    @property
    def wrong(self) -> list[str]:
        """All that must not be."""
        return [*self.violations, *([self.refusal] if self.refusal else []), *self.complaints]

    def write(self, path: Path) -> None:
        """Write it to a file, whose folder need not be there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=2) + "\n")

    def line(self) -> str:
        """Return the line of the table of results."""
        recovery = "-" if self.recovery is None else f"{self.recovery:.1f}"
        return (
            f"{self.scenario:<24} {self.succeeded:>6}/{self.jobs:<6} {len(self.wrong):>10} {recovery:>10} "
            f"{self.lost:>6} {self.seconds:>8.1f}"
        )


HEADING = f"{'scenario':<24} {'ended well':>13} {'violations':>10} {'recovery s':>10} {'lost':>6} {'in all s':>8}"


def versions(server: str) -> dict[str, str]:
    """Return what it ran on."""
    return {
        "conveyor": conveyor_django.__version__,
        "python": platform.python_version(),
        "django": django.get_version(),
        "psycopg": psycopg.__version__,
        "postgresql": server,
    }


def recovery(history: Sequence[Record]) -> float | None:
    """Return the seconds from the first fault to the last end of a run; None where there was none."""
    faults = [record["at"] for record in history if record["event"] == "fault"]
    ends = [record["at"] for record in history if record["event"] == "end"]
    return round(max(0.0, ends[-1] - faults[0]), 3) if faults and ends else None


def victims(history: Sequence[Record]) -> Spread:
    """Return how long the jobs of killed processes waited for their next begin, from the kill on.

    One that never began again had committed its success before the kill, without having come to its end.
    """
    running: dict[int, tuple[int, int]] = {}
    waiting: dict[int, float] = {}
    waited: list[float] = []
    for record in history:
        event, job = record["event"], record.get("job")
        if event == "begin":
            if job in waiting:
                waited.append(record["at"] - waiting.pop(job))
            running[job] = (record["pid"], record["token"])
        elif event in {"end", "abort"} and running.get(job, (0, 0))[1] == record["token"]:
            del running[job]
        elif event == "fault":
            killed = set(record.get("pids", ()))
            for victim in [job for job, (pid, _token) in running.items() if pid in killed]:
                del running[victim]
                waiting[victim] = record["at"]
    return Spread.of(waited)
