"""A random mix of faults, one after the other, while jobs keep coming: its schedule follows from the seed alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from ..stage import Stage
from .base import Scenario
from .deploy import restart_worker
from .postgres import kill_backend, kill_postgresql, stop_and_start
from .processes import (
    freeze_child,
    freeze_supervisor,
    kill_child,
    kill_everything,
    kill_scheduler,
    kill_supervisor,
)

# Faults with their weights: those that stop everything are rarer.
FAULTS: Final[dict[str, tuple[Callable[[Stage], None], int]]] = {
    "kill-child": (kill_child, 6),
    "kill-scheduler": (kill_scheduler, 2),
    "kill-supervisor": (kill_supervisor, 2),
    "kill-everything": (kill_everything, 2),
    "freeze-child": (freeze_child, 4),
    "freeze-supervisor": (freeze_supervisor, 2),
    "restart-worker": (restart_worker, 2),
    "postgresql-stopped": (stop_and_start, 2),
    "postgresql-killed": (kill_postgresql, 2),
    "backend-killed": (kill_backend, 3),
}
# One fault strikes after so many more jobs have begun, on the average.
JOBS_PER_FAULT: Final = 150
# The first and the last part of the jobs go undisturbed: shares of all.
QUIET: Final = 0.02


def planned(jobs: int, seed: int) -> list[tuple[int, str]]:
    """Return how many jobs have to have begun for each fault, and its name, in their order."""
    chance = random.Random(seed)  # noqa: S311 - the same schedule for the same seed
    count = max(3, jobs // JOBS_PER_FAULT)
    moments = sorted(round(chance.uniform(QUIET, 1 - QUIET) * jobs) for _ in range(count))
    weights = [weight for _fault, weight in FAULTS.values()]
    return list(zip(moments, chance.choices([*FAULTS], weights, k=count), strict=True))


def schedule(jobs: int, seed: int) -> list[str]:
    """Return the schedule as the result has it."""
    return [f"{name} after {moment} jobs" for moment, name in planned(jobs, seed)]


def strike_all(stage: Stage) -> None:
    """Strike by the schedule; a fault that comes due while another lasts strikes right after it."""
    for moment, name in planned(stage.jobs, stage.seed):
        stage.wait_begun_jobs(moment)
        fault, _weight = FAULTS[name]
        fault(stage)


SCENARIOS = [
    Scenario(
        name="mix",
        what="all faults of processes and of PostgreSQL, in a random order, one after the other",
        strike=strike_all,
        schedule=schedule,
        workers=2,
        halves=False,
        long=True,
    )
]
