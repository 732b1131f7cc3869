"""The numbers of one database, as the overview reads them: bounded in time, and read once for many scrapes.

However often and from wherever it is asked, a process looks at a database once in CACHE_SECONDS.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from django.db import Error as DjangoError
from django.db import connections, transaction

from ..conf import MAX_ID
from ..log import event, get_logger
from ..managers.looking import LookManager
from ..operate.fleet import read_fleet
from ..operate.overview import Moment, crons, queues, tables, workers
from ..operate.overview.rates import Rates
from .collector import Families, Source

logger = get_logger("metrics")

CACHE_SECONDS: Final = 5.0
# What one look may take in all; Prometheus waits for ten seconds, if it is told nothing else.
LOOK_SECONDS: Final = 5.0
# For large numbers: some 10,000 rows tell 100,000 jobs to a few in a hundred. Less than for who looks once.
SAMPLED_PAGES: Final = 300


class Number(NamedTuple):
    """One sample of a gauge, without the label of its database."""

    metric: str
    value: float
    labels: tuple[str, ...] = ()


def _queue_numbers(moment: Moment) -> Iterator[Number]:
    # What ended is the workers' to tell: their counters cost nothing.
    for queue in queues(moment, rates=Rates(moment.now), workers=workers(moment)):
        for state in type(queue.depth).__dataclass_fields__:
            yield Number("conveyor_queue_jobs", getattr(queue.depth, state).jobs, (queue.name, state))
        yield Number("conveyor_queue_oldest_ready_age_seconds", queue.oldest_ready_seconds or 0.0, (queue.name,))
        yield Number("conveyor_queue_paused", int(queue.paused), (queue.name,))
        yield Number("conveyor_queue_workers", queue.workers, (queue.name,))


def _cron_numbers(moment: Moment) -> Iterator[Number]:
    entries = [entry for entry in crons(moment) if entry.enabled and not entry.abandoned]
    yield Number("conveyor_cron_broken", sum(entry.error is not None for entry in entries))
    for entry in entries:
        if entry.error is None:
            yield Number("conveyor_cron_lateness_seconds", entry.late_seconds or 0.0, (entry.name,))


def _table_numbers(moment: Moment) -> Iterator[Number]:
    for table in tables(moment):
        yield Number("conveyor_table_bytes", table.table_bytes + table.index_bytes, (table.name,))
        yield Number("conveyor_table_rows", table.rows, (table.name,))
        yield Number("conveyor_table_dead_tuples", table.dead_rows, (table.name,))


def _session_numbers(moment: Moment) -> Iterator[Number]:
    holders = LookManager().db_manager(moment.alias).list_snapshot_holders(seconds=0.0, transactions=MAX_ID)
    yield Number(
        "conveyor_oldest_snapshot_age_seconds", max((holder.seconds or 0.0 for holder in holders), default=0.0)
    )
    fleet = read_fleet(moment.alias)
    # A pooler hides who is there: then there is no number rather than a wrong one.
    if fleet.has_scheduler is not None:
        yield Number("conveyor_schedulers", len(fleet.schedulers))


_PARTS: Final[dict[str, Callable[[Moment], Iterator[Number]]]] = {
    "queues": _queue_numbers,
    "crons": _cron_numbers,
    "tables": _table_numbers,
    "sessions": _session_numbers,
}


class DatabaseNumbers:
    """What was last read of one database, and when."""

    def __init__(self, alias: str) -> None:
        self._alias = alias
        self._lock = threading.Lock()
        self._read_at = -CACHE_SECONDS
        self._numbers: list[Number] = []

    def now(self) -> list[Number]:
        """Return the numbers, read anew if they are old; who asks meanwhile waits for the same ones."""
        with self._lock:
            if time.monotonic() - self._read_at >= CACHE_SECONDS:
                self._numbers = self._look()
                self._read_at = time.monotonic()
            return self._numbers

    def _look(self) -> list[Number]:
        until = time.monotonic() + LOOK_SECONDS
        numbers: list[Number] = []
        for part, read in _PARTS.items():
            try:
                found = self._read(read, until)
            except DjangoError as error:
                # Of one part that cannot be read the others are none the worse; the gauge says so, and an alert.
                event(logger, logging.WARNING, "metrics.unread", database=self._alias, part=part, error=str(error))
                numbers.append(Number("conveyor_database_read", 0, (part,)))
            else:
                numbers += [*found, Number("conveyor_database_read", 1, (part,))]
        return numbers

    def _read(self, read: Callable[[Moment], Iterator[Number]], until: float) -> list[Number]:
        """Read one part in a transaction whose statements are ended by the server once the look's time is over."""
        with (
            transaction.atomic(
                using=self._alias,
            ),
            connections[self._alias].cursor() as cursor,
        ):
            # At least a millisecond: 0 would be no limit.
            left = max(1, round((until - time.monotonic()) * 1000))
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(left)])
            return list(read(Moment(self._alias, pages=SAMPLED_PAGES)))


_known: dict[str, DatabaseNumbers] = {}


def database_source(alias: str) -> Source:
    """Return the numbers of the database `alias`."""
    numbers = _known.setdefault(alias, DatabaseNumbers(alias))

    def add(families: Families) -> None:
        for number in numbers.now():
            families.add(number.metric, number.value, alias, *number.labels)

    return add


def forget() -> None:
    """Let the next scrape read every database anew."""
    _known.clear()
