"""What ended: throughput and failures, by minute for an hour and by hour for a day."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from ...states import TERMINAL, JobState
from ..answers import Answer
from .moment import Count, Moment, estimated

if TYPE_CHECKING:
    from ...managers.overview import EndedJobs

# Seconds of a bucket, and how many buckets there are.
MINUTE, HOUR = 60, 3600
MINUTES, HOURS = 60, 24
# What is counted beside the states in which jobs end.
_RETRIED: Final = "retried"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends(Answer):
    """So many jobs ended in each way."""

    succeeded: Count
    failed: Count
    cancelled: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended(Ends):
    """So many jobs ended in each way; and so many runs failed or were lost whose job is tried again."""

    retried: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket(Answer):
    """What ended from `start` on, in a minute or in an hour; the newest one is not over."""

    start: dt.datetime
    ended: Ended


@dataclass(frozen=True, slots=True, kw_only=True)
class History(Answer):
    """An hour by minutes and a day by hours, oldest first, without gaps; and all of each."""

    hour: tuple[Bucket, ...]
    day: tuple[Bucket, ...]
    last_hour: Ended
    last_day: Ended


class _Place(NamedTuple):
    queue: str
    state: str
    fine: bool
    start: int


# The start of a bucket in seconds, or None for all of them; and a state, or _RETRIED.
_Cell = tuple[int | None, str]


class Rates:
    """What ended within the last day, by its rows: a job that was requeued or pruned has not ended."""

    def __init__(self, now: dt.datetime, rows: Sequence[EndedJobs] = ()) -> None:
        self._now = int(now.timestamp())
        self._lately = lately(rows)
        self._tallies: dict[str | None, _Tally] = defaultdict(_Tally)

    def add(self, place: _Place, jobs: int, *, exact: bool) -> None:
        """Count jobs for their queue and for the whole."""
        for queue in (place.queue, None):
            self._tallies[queue].add(place, jobs, exact=exact)

    @property
    def queues(self) -> set[str]:
        """The queues of which any job ended, or was retried."""
        return {queue for queue in self._tallies if queue is not None}

    def history(self, queue: str | None = None) -> History:
        """Return the buckets of a queue, or of all together."""
        tally = self._tallies.get(queue) or _Tally()
        return History(
            hour=tally.buckets(MINUTE, _starts(self._now, MINUTE, MINUTES)),
            day=tally.buckets(HOUR, _starts(self._now, HOUR, HOURS)),
            last_hour=tally.ended(MINUTE, None),
            last_day=tally.ended(HOUR, None),
        )

    def lately(self, queue: str) -> Ends:
        """Return what of a queue ended in the last quarter of an hour, among the newest that are counted."""
        return self._lately.get(queue) or Ends(succeeded=Count(), failed=Count(), cancelled=Count())

    def last_hour(self, queue: str) -> Ended:
        """Return what of a queue ended within the hour."""
        return (self._tallies.get(queue) or _Tally()).ended(MINUTE, None)

    def last_day(self, queue: str) -> Ended:
        """Return what of a queue ended within the day."""
        return (self._tallies.get(queue) or _Tally()).ended(HOUR, None)


class _Tally:
    """Counts by width of the bucket, start and state."""

    def __init__(self) -> None:
        self._jobs: dict[int, Counter[_Cell]] = {MINUTE: Counter(), HOUR: Counter()}
        self._estimated: dict[int, set[_Cell]] = {MINUTE: set(), HOUR: set()}

    def add(self, place: _Place, jobs: int, *, exact: bool) -> None:
        """Count jobs in the bucket where they ended, and in the hour around it."""
        if place.fine:
            self._increase(MINUTE, place.start, place.state, jobs, exact=exact)
        self._increase(HOUR, place.start - place.start % HOUR, place.state, jobs, exact=exact)

    def buckets(self, width: int, starts: Sequence[int]) -> tuple[Bucket, ...]:
        """Return the buckets that begin then."""
        return tuple(
            Bucket(start=dt.datetime.fromtimestamp(start, dt.UTC), ended=self.ended(width, start)) for start in starts
        )

    def ended(self, width: int, start: int | None) -> Ended:
        """Return what ended in a bucket, or in all of them."""
        return Ended(
            succeeded=self._count(width, (start, JobState.SUCCEEDED)),
            failed=self._count(width, (start, JobState.FAILED)),
            cancelled=self._count(width, (start, JobState.CANCELLED)),
            retried=self._count(width, (start, _RETRIED)),
        )

    def _increase(self, width: int, start: int, state: str, jobs: int, *, exact: bool) -> None:
        for cell in ((start, state), (None, state)):
            self._jobs[width][cell] += jobs
            if not exact:
                self._estimated[width].add(cell)

    def _count(self, width: int, cell: _Cell) -> Count:
        jobs = self._jobs[width][cell]
        return estimated(jobs) if cell in self._estimated[width] else Count(jobs)


def rates(moment: Moment) -> Rates:
    """Return what ended: counted as far back as that reaches, estimated before it; and what was retried."""
    rows = moment.statements().count_ended(limit=moment.ended_counted, failures=moment.counted, now=moment.now)
    found = Rates(moment.now, rows)
    for row in rows:
        if not _is_before(row.start, _reach(row, row.state)):
            found.add(_Place(row.queue, row.state, row.fine, row.start), row.jobs, exact=True)
    for place, jobs in _estimates(moment, rows):
        found.add(place, jobs, exact=False)
    for run in moment.statements().count_retried(limit=moment.retried_counted, now=moment.now):
        found.add(_Place(run.queue, _RETRIED, run.fine, run.start), run.runs, exact=run.exact)
    return found


def lately(rows: Sequence[EndedJobs]) -> dict[str, Ends]:
    """Return what ended in the last quarter of an hour, by queue: exact, of the newest jobs that are counted."""
    tally: Counter[tuple[str, str]] = Counter()
    for row in rows:
        tally[row.queue, row.state] += row.lately
    return {
        queue: Ends(**{state.value: Count(tally[queue, state]) for state in TERMINAL})
        for queue in {row.queue for row in rows}
    }


def _estimates(moment: Moment, rows: Sequence[EndedJobs]) -> Iterator[tuple[_Place, int]]:
    if not rows or rows[0].counted_since is None is rows[0].failures_since:
        return
    for sampled, start, jobs in moment.sample.ended():
        if sampled.state in TERMINAL and _is_before(start, _reach(rows[0], sampled.state)):
            yield _Place(sampled.queue, sampled.state, bool(sampled.fine), start), jobs


def _reach(row: EndedJobs, state: str) -> int | None:
    return row.failures_since if state == JobState.FAILED else row.counted_since


def _is_before(start: int, since: int | None) -> bool:
    """Say whether a bucket begins where not everything is counted."""
    return since is not None and start < since


def _starts(now: int, width: int, count: int) -> range:
    newest = now - now % width
    return range(newest - width * (count - 1), newest + 1, width)
