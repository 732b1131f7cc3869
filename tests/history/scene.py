"""Builds a history and the tables that belong to it, job by job; and spoils them, one thing at a time."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any, Final

from .judge import Caps, Violation, judge
from .records import Put
from .tables import AttemptRow, CronRow, EdgeRow, EffectRow, JobRow, LedgerRow, Tables

OWNER: Final = uuid.UUID(int=1)
MIDNIGHT: Final = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
MINUTE: Final = dt.timedelta(minutes=1)


class Scene:
    """A run in the making: each verb adds the lines and the rows that it would leave."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.tables = Tables(jobs=[], ledger=[], attempts=[], edges=[], crons=[], effects=[])
        self.puts: list[Put] = []
        self.ids: dict[str, int] = {}
        self._numbers = count(1)

    # -- what producers do ------------------------------------------------------------------------------------

    def note(self, event: str, **fields: Any) -> None:
        """Add a line."""
        self.lines.append({"event": event, "at": float(len(self.lines)), "pid": 1} | fields)

    def add(self, name: str, *, offered: bool = True, key: str | None = None, **fields: Any) -> int:
        """Add a ready job, accepted under its own name and key."""
        self.ids[name] = job = next(self._numbers)
        if offered:
            key = key or f"key of {name}"
            self.note("offer", name=name, key=key)
            self.note("accept", name=name, job=job)
        fields = {"queue": "default", "state": "ready", "lease_version": 0, "idempotency_key": key} | fields
        self.tables.jobs.append(JobRow(id=job, **fields))
        return job

    def need(self, child: str, parent: str, on_failure: str = "cancel") -> None:
        """Add an edge."""
        self.tables.edges.append(
            EdgeRow(job_id=self.ids[child], needs_id=self.ids[parent], on_failure=on_failure)
        )  # fmt: skip

    def entry(self, name: str, ticks: int, **fields: Any) -> None:
        """Add a cron entry that ticks each minute, and the jobs of so many ticks."""
        last = MIDNIGHT + (ticks - 1) * MINUTE
        policies = {"missed": "all", "overlap": "allow"} | fields
        self.tables.crons.append(CronRow(name=name, last_tick=last, **policies))
        for number in range(ticks):
            tick = MIDNIGHT + number * MINUTE
            self.add(f"{name} {number}", offered=False, key=f"conveyor:cron:{name}:{tick:%Y-%m-%dT%H:%M:%SZ}")
            self.run(f"{name} {number}")

    def count_tick(self, name: str, tick: dt.datetime) -> None:
        """Let an entry say that this was its last tick."""
        [entry] = [entry for entry in self.tables.crons if entry.name == name]
        self.tables.crons[self.tables.crons.index(entry)] = replace(entry, last_tick=tick)

    # -- what handlers do -------------------------------------------------------------------------------------

    def tell(self, of: str, token: int, event: str, **fields: Any) -> None:
        """Add a line of a run."""
        self.note(event, job=self.ids[of], token=token, **fields)

    def begin(self, name: str) -> int:
        """Claim the job and begin its handler; return the token."""
        token = self.row(name).lease_version + 1
        self.set(name, state="running", lease_version=token)
        self.tell(name, token, "begin", name=name)
        return token

    def put(self, name: str, token: int) -> None:
        """Write to the store, which answers as it has to."""
        seen = [put.token for put in self.puts if put.job == self.ids[name]]
        accepted = token >= max(seen, default=0)
        self.puts.append(Put(self.ids[name], token, accepted))
        self.tell(name, token, "put", accepted=accepted)

    def step(self, name: str, token: int, step: str) -> None:
        """Take a durable step and record it."""
        self.tell(name, token, "step_begin", step=step)
        self.tell(name, token, "step_end", step=step)
        self.ledger(name, token, step)

    def ask(self, name: str, token: int, verb: str) -> None:
        """Ask the database to do something in the name of a run."""
        self.tell(name, token, "ask", verb=verb)

    def answer(self, name: str, token: int, verb: str, *, won: bool) -> None:
        """Be told."""
        self.tell(name, token, "answer", verb=verb, won=won)

    def effect(self, name: str, token: int, step: str | None = "") -> None:
        """Write an effect."""
        self.tables.effects.append(EffectRow(name=name, job=self.ids[name], token=token, step=step))

    def run(self, name: str) -> None:
        """Claim and run the job to its success."""
        self.succeed(name, self.begin(name))

    # -- outcomes ---------------------------------------------------------------------------------------------

    def succeed(self, name: str, token: int, *, event: str = "end") -> None:
        """Return from the handler, and have the success taken."""
        self.tell(name, token, event)
        self.ledger(name, token, "")
        self.set(name, state="succeeded")

    def end(self, name: str, token: int, verb: str, state: str, *, raised: bool = True) -> None:
        """End the run without success, by its own worker where its handler raised."""
        if raised:
            self.tell(name, token, "abort", error="no")
        self.tables.attempts.append(
            AttemptRow(job_id=self.ids[name], lease_version=token, verb=verb, owner=OWNER)
        )  # fmt: skip
        self.set(name, state=state)

    def rescue(self, name: str, token: int, state: str = "ready") -> None:
        """Take the job back from a run that goes on without knowing."""
        self.end(name, token, "rescue", state, raised=False)

    def ledger(self, name: str, token: int, step: str, owner: uuid.UUID = OWNER) -> None:
        """Write a ledger row."""
        self.tables.ledger.append(LedgerRow(job_id=self.ids[name], step=step, lease_version=token, owner=owner))

    # -- looking and spoiling ---------------------------------------------------------------------------------

    def row(self, name: str) -> JobRow:
        """Return the job's row."""
        return next(row for row in self.tables.jobs if row.id == self.ids[name])

    def set(self, name: str, **changes: Any) -> None:
        """Change the job's row."""
        row = self.row(name)
        self.tables.jobs[self.tables.jobs.index(row)] = replace(row, **changes)

    def change(self, rows: list[Any], name: str, where: dict[str, Any] | None = None, **changes: Any) -> None:
        """Change the job's one row of a table."""
        [row] = self._found(rows, name, where or {})
        rows[rows.index(row)] = replace(row, **changes)

    def drop(self, rows: list[Any], name: str, **where: Any) -> None:
        """Delete the job's one row of a table."""
        [row] = self._found(rows, name, where)
        rows.remove(row)

    def line(self, name: str, event: str, **where: Any) -> dict[str, Any]:
        """Return the one such line of the job."""
        where = {"event": event, "job": self.ids[name]} | where
        [line] = [line for line in self.lines if where.items() <= line.items()]
        return line

    def forget(self, name: str, event: str, **where: Any) -> None:
        """Take the one such line of the job out."""
        self.lines.remove(self.line(name, event, **where))

    def move(self, line: dict[str, Any], *, before: dict[str, Any]) -> None:
        """Put a line at another place in time."""
        # By identity: lines can be equal.
        self.lines = [kept for kept in self.lines if kept is not line]
        self.lines.insert(next(number for number, kept in enumerate(self.lines) if kept is before), line)

    def judged(self, **terms: Any) -> list[Violation]:
        """Return what the judge finds."""
        defaults: dict[str, Any] = {
            "caps": Caps(queues={"narrow": 1}, keys={"keyed": 1}), "puts": self.puts,
            "with_effect": {"plain", "stopped"}, "periods": {entry.name: 60.0 for entry in self.tables.crons},
        }  # fmt: skip
        return judge(self.lines, self.tables, **defaults | terms)

    def _found(self, rows: list[Any], name: str, where: dict[str, Any]) -> Iterator[Any]:
        job = self.ids[name]
        for row in rows:
            of = row.job if isinstance(row, EffectRow) else row.job_id
            if of == job and all(getattr(row, field) == value for field, value in where.items()):
                yield row
