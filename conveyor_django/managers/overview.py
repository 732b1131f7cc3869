"""Statements that look at everything at once, each bounded in what it reads however many jobs there are."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import NamedTuple

from .base import Connection, StatementManager


class Line(NamedTuple):
    """The ready jobs of a queue that are in line; `cut_off` says that there may be more of them."""

    queue: str
    jobs: int
    cut_off: bool
    since: dt.datetime


class InState(NamedTuple):
    """So many jobs of a queue in a state; `parked` are the ready ones that are out of line."""

    state: str
    queue: str
    jobs: int


class EndedJobs(NamedTuple):
    """So many jobs of a queue that ended in a state in the minute (`fine`) or hour from `start` on.

    What ended before `counted_since` is not counted, nor what failed before `failures_since`; None: all is. Instants
    are seconds since 1970. `lately` of the jobs ended in the last quarter of an hour, where all is counted.
    """

    queue: str
    state: str
    fine: bool
    start: int
    jobs: int
    counted_since: int | None
    failures_since: int | None
    lately: int


class RetriedRuns(NamedTuple):
    """So many runs of a queue's jobs failed or were lost, and did not end the job, in a bucket as those of EndedJobs.

    `exact` unless they were estimated from a part.
    """

    queue: str
    fine: bool
    start: int
    runs: int
    exact: bool


class SampledJobs(NamedTuple):
    """So many jobs of a queue and a state in a sample, which is `share` of the table; those that ended by bucket."""

    queue: str
    state: str
    fine: bool | None
    start: int | None
    jobs: int
    share: float


class Held(NamedTuple):
    """One run of an owner, which has `held` in all."""

    owner: uuid.UUID
    held: int
    job_id: int
    task: str
    queue: str
    number: int
    claimed_at: dt.datetime
    lease_expires_at: dt.datetime


class Measured(NamedTuple):
    """A table's size in bytes, and what VACUUM last knew of its rows."""

    name: str
    row_count: int
    dead_rows: int
    table_bytes: int
    index_bytes: int
    vacuumed_at: dt.datetime | None


class OverviewStatements(StatementManager):
    """The statements behind `operate/overview/`; instants are the database's unless `now` is given."""

    def count_ready(self, *, limit: int, on: Connection | None = None) -> list[Line]:
        """Return the queues with jobs in line; up to `limit` jobs are counted, as many of each queue."""
        return [Line(*row) for row in self.rows("count_ready", {"limit": limit}, on)]

    def count_states(self, *, limit: int, on: Connection | None = None) -> list[InState]:
        """Return how many jobs are running, scheduled, blocked, failed or parked; up to `limit` of each are counted."""
        return [InState(*row) for row in self.rows("count_states", {"limit": limit}, on)]

    def count_ended(
        self, *, limit: int, failures: int, now: dt.datetime | None = None, on: Connection | None = None
    ) -> list[EndedJobs]:
        """Return what ended within a day, in buckets, as far as the newest `limit` jobs and `failures` go."""
        params = {"limit": limit, "failures": failures, "now": now}
        return [EndedJobs(*row) for row in self.rows("count_ended", params, on)]

    def count_retried(
        self, *, limit: int, now: dt.datetime | None = None, on: Connection | None = None
    ) -> list[RetriedRuns]:
        """Return the runs within a day that were retried; `limit` are read of the last hour, and of the day before."""
        return [RetriedRuns(*row) for row in self.rows("count_retried", {"limit": limit, "now": now}, on)]

    def sample_jobs(
        self, *, pages: int, now: dt.datetime | None = None, on: Connection | None = None
    ) -> list[SampledJobs]:
        """Return the jobs on about so many pages of the table, in the buckets of `count_ended`."""
        return [SampledJobs(*row) for row in self.rows("sample_jobs", {"pages": pages, "now": now}, on)]

    def list_runs(self, *, limit: int, shown: int, on: Connection | None = None) -> list[Held]:
        """Return the `shown` oldest runs of each owner, of the first `limit` runs."""
        return [Held(*row) for row in self.rows("list_runs", {"limit": limit, "shown": shown}, on)]

    def measure_tables(self, names: Sequence[str], *, on: Connection | None = None) -> list[Measured]:
        """Return the sizes of those of the tables that exist, by name."""
        return [Measured(*row) for row in self.rows("measure_tables", {"names": list(names)}, on)]
