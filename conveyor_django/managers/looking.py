"""Statements that look at what goes on around the jobs: sessions, locks, the server. They change nothing."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from .base import Connection, StatementManager


class Session(NamedTuple):
    """A session of Conveyor's on the database; `silent` is the seconds since its last statement, None if unknown."""

    pid: int
    name: str
    silent: float | None


class LineHead(NamedTuple):
    """The first job in line of a queue and priority; `waited` is the seconds since it was due."""

    queue: str
    priority: int
    id: int
    task: str
    waited: float


class Holder(NamedTuple):
    """What holds back vacuum: a `session` by its pid, a `prepared` transaction or a replication `slot` by its name.

    `seconds` is None where nobody knows; `age` is in transactions.
    """

    kind: str
    name: str
    application_name: str
    state: str
    seconds: float | None
    age: int


class Locker(NamedTuple):
    """A backend that holds a job's row, or may; `pid` is None for a prepared transaction.

    `seconds` is the age of its transaction, None where this role may not see it.
    """

    pid: int | None
    application_name: str
    state: str
    seconds: float | None
    certain: bool


class LookManager(StatementManager):
    """The statements that look, for whoever asks what is wrong; instants are the database's unless `now` is given."""

    def server_clock(self, *, now: dt.datetime | None = None, on: Connection | None = None) -> dt.datetime:
        """Return the database's time."""
        instant: dt.datetime = self.rows("server_clock", {"now": now}, on)[0][0]
        return instant

    def list_sessions(self, *, now: dt.datetime | None = None, on: Connection | None = None) -> list[Session]:
        """Return the sessions of workers and schedulers."""
        return [Session(*row) for row in self.rows("list_sessions", {"now": now}, on)]

    def probe_job(self, job_id: int, *, on: Connection | None = None) -> bool:
        """Say whether somebody holds a job's row. May lock it for a moment: roll back at once."""
        return bool(self.rows("probe_job", {"id": job_id}, on)[0][0])

    def find_lockers(
        self, job_id: int, *, now: dt.datetime | None = None, on: Connection | None = None
    ) -> list[Locker]:
        """Return who holds a job's row, as far as the database says, the certain ones first."""
        return [Locker(*row) for row in self.rows("find_lockers", {"id": job_id, "now": now}, on)]

    def list_line_heads(
        self, *, limit: int, now: dt.datetime | None = None, on: Connection | None = None
    ) -> list[LineHead]:
        """Return up to `limit` first jobs in line, one for each queue and priority that has any."""
        return [LineHead(*row) for row in self.rows("list_line_heads", {"limit": limit, "now": now}, on)]

    def list_snapshot_holders(
        self, *, seconds: float, transactions: int, now: dt.datetime | None = None, on: Connection | None = None
    ) -> list[Holder]:
        """Return what has held back vacuum for so many seconds; where those are unknown, for so many transactions."""
        params = {"seconds": float(seconds), "transactions": transactions, "now": now}
        return [Holder(*row) for row in self.rows("list_snapshot_holders", params, on)]
