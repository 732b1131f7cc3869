"""What is wrong, and what to do about it: the cheap questions of a dashboard."""

from __future__ import annotations

from typing import Final

from .doctor.backlog import BACKLOG
from .doctor.finding import Check, Finding, Level, by_level
from .doctor.scheduling import LATE, SCHEDULERS
from .doctor.snapshots import SNAPSHOTS
from .doctor.workers import LISTENERS, QUEUES, WORKERS
from .fleet import read_fleet

__all__ = ["Finding", "Level", "wrong_now"]

# Some index probes each, whatever the size of the tables.
NOW: Final[tuple[Check, ...]] = (QUEUES, WORKERS, SCHEDULERS, LATE, BACKLOG, LISTENERS, SNAPSHOTS)


def wrong_now(alias: str) -> list[Finding]:
    """Return what is wrong at the moment in the database `alias`, the worst first; [] where all is well.

    Cheap enough for a page that refreshes itself. Database errors pass through.
    """
    fleet = read_fleet(alias)
    return by_level(finding for check in NOW for finding in check.look(fleet))
