"""The ground on which scenarios run: the statements, perhaps altered, and connections that look at private tables."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from conveyor_django.db import Connection
from conveyor_django.managers.base import Row, StatementManager
from conveyor_django.managers.duties import Rescued
from conveyor_django.managers.jobs import JobManager
from conveyor_django.outcomes import Answer, Claimed, Ended, Retry, Succeed
from conveyor_django.sql import statement

from .barriers import Threads
from .connections import Connect
from .factories import ERROR, in_seconds, new_job
from .schema import TABLES, use_schema

A, B = uuid.UUID(int=0xA), uuid.UUID(int=0xB)
GATE = 0x6A7E
KEEP, MAX_LOST, MAX_RELEASES = 100, 3, 100


class Altered(StatementManager):
    """A manager with some statements replaced by texts of their own."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__()
        self.texts = dict(texts)

    def rows(self, name: str, params: dict[str, Any], on: Any = None) -> list[Row]:
        """Run the text given for `name`, or the statement itself."""
        if name not in self.texts:
            return super().rows(name, params, on)
        with on.cursor() as cursor:
            cursor.execute(self.texts[name], params)
            rows: list[Row] = cursor.fetchall()
            return rows


class AlteredJobs(Altered, JobManager):
    """The manager of jobs so."""

    def with_texts(self, texts: Mapping[str, str]) -> Self:
        """Return one like it with these texts, too."""
        other = copy(self)
        other.texts = self.texts | texts
        return other


class Seen(NamedTuple):
    """What a job's row says."""

    state: str
    owner: uuid.UUID | None
    version: int
    attempt: int
    expires_at: dt.datetime | None
    cancel_requested: bool


@dataclass
class Race:
    """Jobs, two workers A and B, and what everybody can see of it."""

    schema: str
    connect_plainly: Connect
    sides: Threads
    jobs: AlteredJobs = field(default_factory=lambda: AlteredJobs({}))

    def __post_init__(self) -> None:
        self.main = self.connect()
        for table in TABLES:
            self.main.execute(f"DELETE FROM {self.schema}.conveyor_{table}")

    def connect(self) -> Connection:
        """Open one more connection."""
        connection = self.connect_plainly()
        use_schema(connection, self.schema)
        return connection

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Open a transaction on a connection of its own; it commits at the end of the block."""
        connection = self.connect()
        with connection.transaction():
            yield connection

    @contextmanager
    def lost_transaction(self) -> Iterator[Connection]:
        """Open a transaction on a connection of its own; it rolls back at the end of the block."""
        connection = self.connect()
        connection.execute("BEGIN")
        yield connection
        connection.execute("ROLLBACK")

    @contextmanager
    def gate(self, name: str) -> Iterator[Race]:
        """Give a race whose statement `name` is held up, between its snapshot and its first lock, in the block."""
        held_up = copy(self)
        held_up.jobs = self.jobs.with_texts({name: gated(self.jobs.texts.get(name) or statement(name))})
        keeper = self.connect()
        keeper.execute("SELECT pg_advisory_lock(%s)", (GATE,))
        yield held_up
        keeper.execute("SELECT pg_advisory_unlock(%s)", (GATE,))

    # -- what the workers do ------------------------------------------------------------------------

    def enqueue(self, jobs: int = 1) -> list[int]:
        """Enqueue so many jobs; return their ids."""
        accepted = self.jobs.enqueue_jobs([new_job() for _ in range(jobs)], on=self.main)
        return [entry.id for entry in accepted if entry is not None]

    def claim(self, owner: uuid.UUID, limit: int = 1, on: Connection | None = None) -> list[Claimed]:
        """Claim for a worker."""
        return self.jobs.claim_jobs(owner=owner, queues={"default": 30.0}, limit=limit, on=on or self.main)

    def claim_one(self, owner: uuid.UUID, on: Connection | None = None) -> Claimed:
        """Claim the one job that is ready."""
        [claimed] = self.claim(owner, on=on)
        return claimed

    def enqueue_and_claim(self, owner: uuid.UUID, jobs: int = 1) -> list[Claimed]:
        """Make jobs that the worker runs."""
        self.enqueue(jobs)
        return self.claim(owner, jobs)

    def succeed(self, owner: uuid.UUID, *runs: Claimed, on: Connection | None = None) -> list[Answer]:
        """Report success."""
        outcomes = [Succeed(id=run.id, version=run.version) for run in runs]
        answers = self.jobs.succeed_jobs(outcomes, owner=owner, on=on or self.main)
        return [answers[run.token] for run in runs]

    def end(
        self, owner: uuid.UUID, *runs: Claimed, kind: type[Ended] = Retry, on: Connection | None = None
    ) -> list[Answer]:
        """Report an ending without success."""
        outcomes = [kind(id=run.id, version=run.version, error=ERROR) for run in runs]
        answers, _ = self.jobs.end_attempts(
            outcomes, owner=owner, keep=KEEP, max_releases=MAX_RELEASES, on=on or self.main
        )
        return [answers[run.token] for run in runs]

    def renew(self, owner: uuid.UUID, *runs: Claimed, on: Connection | None = None) -> list[Answer]:
        """Renew for two hours."""
        leases = {run.token: 7200.0 for run in runs}
        answers = self.jobs.renew_leases(leases, owner=owner, on=on or self.main)
        return [answers[run.token][0] for run in runs]

    def record(self, owner: uuid.UUID, *runs: Claimed, on: Connection | None = None) -> list[Answer]:
        """Record the step "pay" of each run, one after the other."""
        connection = on or self.main
        return [self.jobs.record_step(run.token, "pay", None, owner=owner, on=connection)[0] for run in runs]

    def hold(self, owner: uuid.UUID, *runs: Claimed, on: Connection | None = None) -> list[Answer]:
        """Hold the fence of each run, as `won` or `lost`."""
        connection = on or self.main
        held = [self.jobs.hold_fence(run.token, owner=owner, on=connection) for run in runs]
        return [Answer.WON if each else Answer.LOST for each in held]

    def rescue(self, on: Connection | None = None) -> list[Rescued]:
        """Take back every lease that ends within the hour."""
        return self.jobs.rescue_jobs(limit=100, max_lost=MAX_LOST, now=in_seconds(3600), on=on or self.main)

    def take_over(self, owner: uuid.UUID, on: Connection | None = None) -> Claimed:
        """Rescue the one job that runs and claim it for another."""
        self.rescue(on=on)
        return self.claim_one(owner, on=on)

    # -- what can be seen ---------------------------------------------------------------------------

    def job(self, job_id: int) -> Seen:
        """Return what the job's row says."""
        row = self.main.execute(
            "SELECT state, lease_owner, lease_version, attempt, lease_expires_at, cancel_requested_at IS NOT NULL "
            "FROM conveyor_job WHERE id = %s",
            (job_id,),
        ).fetchone()
        assert row is not None
        return Seen(*row)

    def effects(self, job_id: int) -> list[tuple[uuid.UUID, int]]:
        """Return (owner, version) of each effect in the ledger."""
        return self.main.execute(
            "SELECT owner, lease_version FROM conveyor_ledger WHERE job_id = %s ORDER BY lease_version",
            (job_id,),
        ).fetchall()

    def attempts(self, job_id: int) -> list[tuple[str, int]]:
        """Return (verb, version) of each attempt that did not succeed."""
        return self.main.execute(
            "SELECT verb, lease_version FROM conveyor_attempt WHERE job_id = %s ORDER BY lease_version",
            (job_id,),
        ).fetchall()


_FIRST_READ = re.compile(r"^ +FROM (?:(unnest\()|conveyor_(?:job AS job|cron AS cron)\n +WHERE )", re.MULTILINE)


def gated(text: str) -> str:
    """Return the statement with a pause after its snapshot: it waits for the advisory lock GATE before it reads."""
    first = _FIRST_READ.search(text)
    assert first is not None, f"no place for a gate in {text}"
    if first[1]:
        opened = first[0].replace("unnest(", "gate CROSS JOIN unnest(")
    else:
        opened = f"{first[0]}(SELECT count(*) FROM gate) = 1 AND "
    text = text[: first.start()] + opened + text[first.end() :]
    gate = f"WITH gate AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared({GATE})),\nclock AS"
    assert text.count("WITH clock AS") == 1
    return text.replace("WITH clock AS", gate)
