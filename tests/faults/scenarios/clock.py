"""The clock of a worker's host is hours off: there is one clock, the database's (P5)."""

from __future__ import annotations

from typing import Final

from ..packages import library
from ..stage import Stage
from .base import Scenario

# Of PyPI: Debian's 0.9.10 breaks time.sleep() of Python 3.11 where the monotonic clock is left alone (its issue 426).
PACKAGE: Final = "libfaketime"
LIBRARY: Final = "vendor/libfaketime/src/libfaketime.so.1"


def off_by(offset: str) -> dict[str, str]:
    """Return the environment of a process whose wall clock is off, as in ``+5h``. Raises PackageMissing.

    The monotonic clock goes as before, as on a host whose time was set wrong.
    """
    return {
        "LD_PRELOAD": library(PACKAGE, LIBRARY),
        "FAKETIME": offset,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }


def hours_off(stage: Stage) -> None:
    """Let a worker five hours ahead and one five behind take over from the one whose clock is right."""
    stage.wait_begun(0.1, 0.3)
    fleet = stage.fleet
    with stage.fault("one worker's clock is 5 h ahead, another's 5 h behind"):
        [right] = fleet.workers
        wrong = [fleet.start_worker(**off_by(offset)) for offset in ("+5h", "-5h")]
        for worker in wrong:
            fleet.wait_until_working(worker)
        fleet.start_scheduler(**off_by("+5h")).wait_for("scheduler.connected")
        fleet.stop(right)
        hours = [_hour_of(worker.wait_for("worker.started")["time"]) for worker in wrong]
        assert (hours[0] - hours[1]) % 24 == 10, "the clocks are not off: is libfaketime in force?"
        stage.wait_begun(1.0)


def _hour_of(time: str) -> int:
    return int(time[11:13])


SCENARIOS = [
    Scenario(
        name="clock", what="one worker's clock is five hours ahead, another's five hours behind", strike=hours_off
    ),
]
