"""A race with a broken statement, and what each of the checks says of it."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psycopg

from conveyor_django.db import Connection
from conveyor_django.managers.release import sweep_until_clean
from conveyor_django.outcomes import Succeed, Token
from conveyor_django.sql import statement

from ...concurrency.flow_mutants import MIGRATION, RESOLVE
from ...concurrency.mutants import ATTEMPT_KEY, LEDGER_KEY, keyless
from ...history.judge import judge
from ...history.records import History, Store, read
from ...history.tables import Tables
from ...support.barriers import Running, Threads
from ...support.connections import opened_connections
from ...support.factories import in_seconds
from ...support.races import MAX_LOST
from ...support.schema import create_schema, use_schema
from ...support.transitions import install_transition_guard
from ...trace.check import check
from ...trace.log import Step, install, read_log
from ...trace.model import Rules
from ...trace.runs import Traced
from .recorded import RecordedJobs

SCHEMA: Final = "mutants"
# The worker that comes when all is over.
C: Final = uuid.UUID(int=0xC)
LEDGER_WRITERS: Final = ("succeed_jobs", "record_step")
ATTEMPT_WRITERS: Final = ("end_attempts", "rescue_jobs", "rescue_owner", "release_unknown")
EFFECTS: Final = "CREATE TABLE {schema}.test_effect (name text, job bigint, token bigint, step text)"

# The race's own assertions; who waits for a frozen session, or for one another; the history, with what workers asked
# and were told, and the final tables; the log beside what they asked; the log alone; the tests' trigger and
# PostgreSQL's constraints and deadlock detector.
RACE, LOCKS, JUDGE, ANSWERS, TRACE = "race test", "locks", "judge", "answers", "trace"
TRIGGER, CONSTRAINT = "transition trigger", "database"


class WatchedThreads(Threads):
    """Sides of a race; counts those that met a lock of a transaction that stands open, as a frozen session's does."""

    met_locks = 0

    def start(self, connection: Connection, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Running[Any]:
        """Start a side whose locks are counted."""
        running = super().start(connection, call, *args, **kwargs)
        settle = running.settle

        def counted() -> bool:
            met = settle()
            self.met_locks += met
            return met

        running.settle = counted  # type: ignore[method-assign]
        return running


@contextmanager
def _watched(watcher: Connection) -> Iterator[WatchedThreads]:
    with ThreadPoolExecutor(thread_name_prefix="side") as pool:
        yield WatchedThreads(pool, watcher)


@dataclass
class Evidence:
    """What was said of one mutant: by whom, and the first thing that each said."""

    said: dict[str, str] = field(default_factory=dict)

    def add(self, who: str, what: str) -> None:
        """Keep the first thing that somebody says."""
        self.said.setdefault(who, what)

    def update(self, other: Evidence) -> None:
        """Add what was said in another race."""
        for who, what in other.said.items():
            self.add(who, what)


def make_schema(on: Connection, *, without_index: str = "") -> None:
    """Make the tables anew, with the trigger of workflows and a table of effects."""
    on.prepare_threshold = None
    create_schema(on, SCHEMA, without_index=without_index)
    use_schema(on, SCHEMA)
    on.execute(MIGRATION.RELEASE_TRIGGER)
    on.execute(EFFECTS.format(schema=SCHEMA))


def guard_transitions(on: Connection, *, guarded: bool) -> None:
    """Have the tables refuse illegal transitions, as the everyday tests do, or not."""
    on.prepare_threshold = None
    use_schema(on, SCHEMA)
    if guarded:
        install_transition_guard(on)
    else:
        on.execute("DROP TRIGGER IF EXISTS test_transition_guard ON conveyor_job")


def play(
    scenario: Callable[[Any], None], texts: Mapping[str, str], watcher: Connection, *, without_index: str = ""
) -> Evidence:
    """Play a race with these texts in place of the statements', let another worker end what is left, and ask everybody.

    That worker has the same texts: who never looks at a job again must not be helped by one who does.
    """
    texts = _as_without(without_index) | dict(texts)
    function = texts.pop(RESOLVE, None)
    evidence = Evidence()
    with tempfile.TemporaryDirectory(prefix="conveyor-mutant-") as folder:
        path, store = Path(folder, "history"), Path(folder, "store")
        with History(path) as history:
            with _watched(watcher) as sides, opened_connections() as connect:
                jobs = RecordedJobs(texts, history, store)
                race = Traced(SCHEMA, connect, sides, jobs, texts=texts)
                race.main.execute("DELETE FROM test_effect")
                _replace_function(race.main, function)
                install(race.main)
                _race(scenario, race, evidence)
                if sides.met_locks:
                    evidence.add(LOCKS, "a statement waited for a row of an open transaction")
            with opened_connections() as connect:
                main = connect()
                use_schema(main, SCHEMA)
                _end_what_is_left(RecordedJobs(texts, history, store), main, evidence)
                for what in _unasked(read_log(main), jobs.asked):
                    evidence.add(ANSWERS, what)
                _ask(main, path, store, evidence)
                _replace_function(main, None)
    return evidence


def _as_without(index: str) -> dict[str, str]:
    """Return the statements that name a key in ON CONFLICT as they must be where there is no such key."""
    holding = {LEDGER_KEY: LEDGER_WRITERS, ATTEMPT_KEY: ATTEMPT_WRITERS}.get(index, ())
    return {name: keyless(statement(name), index) for name in holding}


def _replace_function(on: Connection, text: str | None) -> None:
    on.execute(f"DROP FUNCTION IF EXISTS {SCHEMA}.{RESOLVE}")
    if text is not None:
        on.execute(text.replace(f"CREATE FUNCTION {RESOLVE}", f"CREATE FUNCTION {SCHEMA}.{RESOLVE}"))


def _race(scenario: Callable[[Any], None], race: Traced, evidence: Evidence) -> None:
    try:
        scenario(race)
    except (AssertionError, TimeoutError, FutureTimeoutError) as error:
        evidence.add(RACE, _first_line(error))
        if isinstance(error.__cause__, psycopg.errors.DeadlockDetected):
            evidence.add(LOCKS, "two statements waited for each other, until PostgreSQL ended one")
    except psycopg.Error as error:
        _database_said(error, evidence)


def _database_said(error: psycopg.Error, evidence: Evidence) -> None:
    """Say which part of the database refused; raise any other error."""
    if isinstance(error, psycopg.errors.IntegrityError):
        evidence.add(CONSTRAINT, _first_line(error))
    elif isinstance(error, psycopg.errors.RaiseException):
        evidence.add(TRIGGER, _first_line(error))
    elif isinstance(error, psycopg.errors.DeadlockDetected):
        evidence.add(CONSTRAINT, _first_line(error))
    else:
        raise error


def _end_what_is_left(jobs: RecordedJobs, main: Connection, evidence: Evidence) -> None:
    """Take back what runs and run what is ready, until nothing is left to do; every job that can end has ended then."""
    idle = 0
    try:
        # Twice in a row: what one pass puts in line, the next one takes. A job that comes back for ever is given up.
        for _ in range(30):
            idle = 0 if _pass(jobs, main) else idle + 1
            if idle == 2:
                break
    except psycopg.Error as error:
        _database_said(error, evidence)


def _pass(jobs: RecordedJobs, main: Connection) -> bool:
    """Do once what schedulers and workers do; say whether there was anything to do."""
    rescued = jobs.rescue_jobs(limit=100, max_lost=MAX_LOST, now=in_seconds(86400), on=main)
    sweep_until_clean(alias="default", on=main)
    unparked = jobs.unpark_jobs(jobs.list_parked_keys(limit=100, on=main), on=main)
    claim = jobs.claim(owner=C, queues={"default": 30.0}, limit=100, on=main)
    jobs.make_permits(claim.unprovided, on=main)
    jobs.succeed_jobs([Succeed(id=job.id, version=job.version) for job in claim.jobs], owner=C, on=main)
    return bool(rescued or unparked or claim.jobs or claim.unprovided)


def _unasked(log: list[Step], asked: Mapping[str, set[Token]]) -> Iterator[str]:
    """Find runs of which a statement has renewed or ended the newest lease, although no worker named that one."""
    for change in (change for step in log for change in step.changes):
        if change.table == "conveyor_job" and change.old is not None and change.statement in asked:
            token = (change.old["id"], change.old["lease_version"])
            if change.old["state"] == "running" and token not in asked[change.statement]:
                yield f"{change.statement}: nobody named run {token[1]} of job {token[0]}"


def _ask(main: Connection, path: Path, store: Path, evidence: Evidence) -> None:
    refusal = check(read_log(main), Rules(max_lost=MAX_LOST))
    if refusal is not None:
        evidence.add(TRACE, f"{refusal.statement}: {refusal.guard}")
    puts = Store(store).puts() if store.exists() else []
    for violation in judge(read(path), Tables.read(main), puts=puts):
        evidence.add(JUDGE, f"{violation.rule}: {violation.message}")


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
