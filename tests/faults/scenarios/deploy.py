"""A rolling deploy under load: old and new code side by side, then the new alone."""

from __future__ import annotations

from ..stage import Stage
from ..variables import NEWER_CODE
from .base import Scenario, at_a_third

NEWER = {NEWER_CODE: "1"}


def roll(stage: Stage) -> None:
    """Start a worker with the newer code beside each old one, then stop the old one by SIGTERM while jobs run.

    The producers have the newer code first: their jobs of a task that the older code does not know go back until a
    worker comes that does.
    """
    fleet = stage.fleet
    fleet.environment |= NEWER
    with stage.fault("rolling deploy"):
        stage.wait(lambda: _unknown(stage), "old code has met a task that it does not know")
        for old in list(fleet.workers):
            fleet.wait_until_working(fleet.start_worker())
            stage.busiest_child()
            fleet.stop(old)
        for scheduler in list(fleet.schedulers):
            fleet.start_scheduler()
            fleet.stop(scheduler)


def _unknown(stage: Stage) -> bool:
    """Say whether a worker has given back a job since it does not know the task."""
    return any("UnknownTask" in event["error"] for event in stage.fleet.events("job.released"))


def restart_worker(stage: Stage) -> None:
    """Start a worker and stop an old one by SIGTERM while jobs run, as a deploy does."""
    old = stage.fleet.worker_of(stage.busiest_child())
    with stage.fault("a worker replaced by SIGTERM"):
        stage.fleet.wait_until_working(stage.fleet.start_worker())
        stage.fleet.stop(old)


SCENARIOS = [
    Scenario(
        name="rolling-deploy",
        what="workers replaced by SIGTERM under load, old and new code side by side; old code meets a new task",
        strike=at_a_third(roll),
        producer=NEWER,
        newcomers=10,
        processes=1,
        workers=2,
    )
]
