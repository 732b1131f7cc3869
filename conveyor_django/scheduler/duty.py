"""What a duty of the scheduler is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from ..conf import ConveyorSettings
from ..db import Connection
from ..managers.jobs import JobManager
from ..models import Job

# Rows that one statement changes at most; more come in the next, so that no transaction is long.
BATCH: Final = 1000

# The instant to hand to statements; None leaves it to the database's clock, as production does (promise P5).
Now = Callable[[], dt.datetime | None]


def database_clock() -> None:
    """Leave the time to the database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look did: how many rows it changed, and when another is worth it.

    `more`: there is probably more, look again at once. `wait`: seconds until the next, None for the usual.
    """

    changed: int = 0
    more: bool = False
    wait: float | None = None


class Duty:
    """One thing that schedulers do, by one guarded statement a look. Made anew for each connection."""

    name: ClassVar[str]

    # Seconds between two looks at the least, whatever wakes the scheduler.
    at_least: float = 0.0

    def __init__(
        self, *, alias: str, settings: ConveyorSettings, now: Now = database_clock, after_outage: bool = False
    ) -> None:
        self.alias = alias
        # Whether the scheduler has just reconnected: the others may not have yet.
        self.after_outage = after_outage
        self.settings = settings
        self.now = now

    def jobs(self) -> JobManager:
        """Return the statements on jobs."""
        return Job.objects.db_manager(self.alias)

    def look_once(self, connection: Connection) -> Look:  # noqa: ARG002 - what the duties implement
        """Run the duty's statement once on `connection`. Database errors pass through."""
        raise TypeError(f"{type(self).__name__} must define look_once()")
