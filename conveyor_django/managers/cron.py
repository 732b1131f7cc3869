"""Statements about cron entries."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .base import Connection, StatementManager

if TYPE_CHECKING:
    from .jobs import NewJob


@dataclass(frozen=True, slots=True, kw_only=True)
class CronRow:
    """What an entry's row says, as it is: nothing of it need be right. `args` and `kwargs` are JSON text."""

    name: str
    expression: str
    zone: str
    task: str
    args: str = "[]"
    kwargs: str = "{}"
    queue: str | None = None
    enabled: bool = True
    declared: bool = False
    missed: str = "latest"
    max_missed: int = 100
    overlap: str = "allow"
    jitter_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An entry, its last tick, None before the first, and the database's time when it was read."""

    row: CronRow
    last_tick: dt.datetime | None
    now: dt.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked:
    """What a tick came to: its jobs, oldest first; whether one may be claimed now; whether it would have overlapped."""

    ids: list[int]
    ready: bool
    overlaps: bool


class CronManager(StatementManager):
    """The statements on cron entries; instants are the database's unless `now` is given."""

    def list_crons(self, *, now: dt.datetime | None = None, on: Connection | None = None) -> list[Listed]:
        """Return every entry, by name."""
        names = CronRow.__slots__
        return [
            Listed(row=CronRow(**dict(zip(names, row[:-2], strict=True))), last_tick=row[-2], now=row[-1])
            for row in self.rows("list_crons", {"now": now}, on)
        ]

    def tick_cron(
        self,
        name: str,
        job: NewJob,
        *,
        seen: dt.datetime | None,
        newest: dt.datetime,
        ticks: Sequence[tuple[str, dt.datetime]] = (),
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> Ticked | None:
        """Enqueue `job` once for each (idempotency key, run_at) in `ticks`, and set the entry's last tick to `newest`.

        `seen` is the last tick as the caller saw it; None comes back where that is not so any more, where somebody
        holds the entry's row, and where the entry is switched off.
        """
        params = {
            "name": name, "seen": seen, "newest": newest, "idempotency_keys": [key for key, _ in ticks],
            "run_ats": [instant for _, instant in ticks], "queue": job.queue, "task": job.task, "args": job.args,
            "kwargs": job.kwargs, "priority": job.priority, "max_attempts": job.max_attempts,
            "concurrency_key": job.concurrency_key, "now": now,
        }  # fmt: skip
        rows = self.rows("tick_cron", params, on)
        return Ticked(overlaps=rows[0][0], ids=rows[0][1], ready=rows[0][2]) if rows else None

    def declare_crons(
        self, entries: Sequence[CronRow], *, now: dt.datetime | None = None, on: Connection | None = None
    ) -> dict[str, str]:
        """Write the entries of the code; return for each name `inserted`, `changed`, `same`, or `busy`: not written."""
        params = {
            "names": [entry.name for entry in entries],
            "expressions": [entry.expression for entry in entries],
            "zones": [entry.zone for entry in entries],
            "tasks": [entry.task for entry in entries],
            "args": [entry.args for entry in entries],
            "kwargs": [entry.kwargs for entry in entries],
            "queues": [entry.queue for entry in entries],
            "missed": [entry.missed for entry in entries],
            "max_missed": [int(entry.max_missed) for entry in entries],
            "overlaps": [entry.overlap for entry in entries],
            "jitters": [float(entry.jitter_seconds) for entry in entries],
            "now": now,
        }
        return dict(self.rows("declare_crons", params, on))
