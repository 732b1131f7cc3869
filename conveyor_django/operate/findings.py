"""What is wrong, and what to do about it: the cheap questions of a dashboard, and all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final

from django.db import Error as DatabaseError
from django.db import transaction

from .doctor.backlog import BACKLOG
from .doctor.cron import CRON
from .doctor.failures import FAILURES, failing
from .doctor.finding import Check, Finding, Level, by_level, problem
from .doctor.orphans import HALVES, OWNERS, PERMITS
from .doctor.pooler import HERE, LOCKS
from .doctor.project import unapplied
from .doctor.scheduling import LATE, SCHEDULERS
from .doctor.server import CLOCK, INDEXES, SETTINGS, SLOTS, USED_UP, WRAPAROUND
from .doctor.snapshots import SNAPSHOTS
from .doctor.vacuum import AUTOVACUUM, DEAD_ROWS
from .doctor.workers import LISTENERS, QUEUES, WORKERS
from .fleet import Fleet, read_fleet

if TYPE_CHECKING:
    from .overview import Overview

__all__ = ["Finding", "Level", "examine", "wrong_now"]

# Some index probes each, whatever the size of the tables, and some thousand rows for what failed.
NOW: Final[tuple[Check, ...]] = (QUEUES, WORKERS, SCHEDULERS, LATE, BACKLOG, FAILURES, LISTENERS, SNAPSHOTS)
# In the order in which a person would ask.
ALL: Final[tuple[Check, ...]] = (
    *NOW, CRON, OWNERS, HALVES, PERMITS, SETTINGS, HERE, LOCKS, CLOCK, USED_UP, AUTOVACUUM, DEAD_ROWS, SLOTS,
    WRAPAROUND, INDEXES,
)  # fmt: skip


def wrong_now(alias: str, seen: Overview | None = None) -> list[Finding]:
    """Return what is wrong at the moment in the database `alias`, the worst first; [] where all is well.

    Cheap enough for a page that refreshes itself; what an overview of the database has `seen` is not read again.
    Database errors pass through.
    """
    fleet = read_fleet(alias)
    if seen is None:
        return by_level(_found(NOW, fleet))
    known = failing({queue.name: queue.lately for queue in seen.queues}, alias)
    return by_level(chain(_found([check for check in NOW if check is not FAILURES], fleet), known))


def _found(checks: Iterable[Check], fleet: Fleet) -> Iterator[Finding]:
    for check in checks:
        yield from check.look(fleet)


def examine(alias: str) -> list[Finding]:
    """Return what all checks find in the database `alias`, the worst first, with an OK for each that finds nothing.

    A check that the database refuses is a finding, and the others go on; errors of the connection pass through.
    """
    if lacking := unapplied(alias):
        # Nothing else could be read.
        return lacking
    fleet = read_fleet(alias)
    return by_level(finding for check in ALL for finding in _looked(check, fleet))


def _looked(check: Check, fleet: Fleet) -> Iterator[Finding]:
    """Yield what a check finds, or that all is well."""
    try:
        # One that fails must not take a transaction with it that somebody has open.
        with transaction.atomic(using=fleet.alias):
            found = list(check.look(fleet))
    except DatabaseError as error:
        yield problem(
            "check_failed",
            f"whether it is so that {check.good!r} could not be seen: {str(error).strip() or repr(error)}",
            "Let the role of this database read Conveyor's tables and pg_stat_activity (GRANT pg_monitor TO …).",
        )
        return
    yield from found or [Finding("ok", Level.OK, check.good, "")]
