"""When and where an overview looks, and how it counts without ever counting a large table.

Counts are exact up to a bound. What is larger is estimated from a sample of the table's pages, always the same ones, so
that the figures do not jump from one look to the next, and are never older than the rows (statistics are).
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ...managers.looking import LookManager
from ...models import Job
from ..answers import Answer

if TYPE_CHECKING:
    from ...managers.jobs import JobManager
    from ...managers.overview import SampledJobs

# Jobs that a statement counts one by one, where an index alone is read and where rows are; runs that were retried, of
# which as many are read in an hour as in the day before it; pages that a sample reads.
# Each costs some 10 to 40 ms, however many jobs there are.
COUNTED: Final = 10_000
ENDED_COUNTED: Final = 5_000
RETRIED_COUNTED: Final = 1_000
SAMPLED_PAGES: Final = 500


@dataclass(frozen=True, slots=True)
class Count(Answer):
    """A number of jobs, or of runs; an estimate unless `exact`."""

    jobs: int = 0
    exact: bool = True

    def __add__(self, other: Count) -> Count:
        return Count(self.jobs + other.jobs, self.exact and other.exact)

    def __str__(self) -> str:
        return f"{self.jobs:,}" if self.exact else f"≈ {self.jobs:,}"


def estimated(jobs: int) -> Count:
    """Return an estimate, of three figures: more would be noise."""
    return Count(round(jobs, min(0, 3 - len(str(jobs)))), exact=False)


class Sample:
    """A part of the table of jobs, and what it says of the whole."""

    def __init__(self, rows: list[SampledJobs]) -> None:
        self._rows = rows
        self._share = rows[0].share if rows else 1.0
        self._states: Counter[tuple[str, str]] = Counter()
        for row in rows:
            self._states[row.state, row.queue] += row.jobs

    def estimate(self, state: str, queue: str, *, least: int = 0) -> Count:
        """Return how many jobs of a queue are in a state; `least` have been seen."""
        return estimated(max(least, round(self._states[state, queue] / self._share)))

    def queues_in(self, state: str) -> set[str]:
        """Return the queues of which it has jobs in that state."""
        return {queue for (known, queue) in self._states if known == state}

    def ended(self) -> Iterator[tuple[SampledJobs, int, int]]:
        """Yield what ended within a day, with the start of its bucket and how many that is in the whole table."""
        for row in self._rows:
            if row.start is not None:
                yield row, row.start, round(row.jobs / self._share)


class Moment:
    """One look at one database: everything that it finds is reckoned by the database's clock at its beginning."""

    def __init__(
        self, alias: str, *, counted: int = COUNTED, ended: int = ENDED_COUNTED, retried: int = RETRIED_COUNTED,
        pages: int = SAMPLED_PAGES,
    ) -> None:  # fmt: skip
        self.alias = alias
        self.counted = counted
        self.ended_counted = ended
        self.retried_counted = retried
        self._pages = pages

    @cached_property
    def now(self) -> dt.datetime:
        """The database's time at the first question."""
        look: LookManager = LookManager().db_manager(self.alias)
        return look.server_clock()

    def statements(self) -> JobManager:
        """Return the statements on this database."""
        return Job.objects.db_manager(self.alias)

    @cached_property
    def sample(self) -> Sample:
        """A sample of the jobs; it is taken for the first question that needs it."""
        return Sample(self.statements().sample_jobs(pages=self._pages, now=self.now))

    def seconds_since(self, instant: dt.datetime) -> float:
        """Return how long ago an instant was; 0 for one that lies ahead."""
        return max(0.0, (self.now - instant).total_seconds())
