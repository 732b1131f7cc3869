"""One run of a scenario, from an empty server to the judgement."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg

from ..history.judge import Caps, judge
from ..history.records import History, Store, read
from ..history.tables import TERMINAL, Tables
from ..support.server import Server
from ..support.waits import wait_until
from ..trace.check import check
from ..trace.log import read_log
from ..trace.model import Rules
from .cron import ENTRY, PERIOD, add_entry, end_entry, wait_ticked
from .finish import complaints
from .fleet import Fleet
from .result import Record, Result, recovery, versions, victims
from .scenarios.base import Scenario
from .stage import Stage, Watch
from .template import ready_server
from .variables import HISTORY, STORE
from .workload import EXACT_CAP, KEY_CAP, with_effect

# Jobs per second of the producer.
RATE: Final = 30.0
# Seconds until the producer has ended after its last fault, and then until every job has.
PATIENCE: Final = 120.0
# A run that is lost costs a job nothing here: several faults may meet the same one.
MAX_LOST: Final = 20
GRACE_SECONDS: Final = 10.0


def run(scenario: Scenario, *, jobs: int, seed: int, folder: Path, rate: float | None = None) -> Result:
    """Run a scenario on a server of its own; write its result to `folder`, and return it.

    `rate`: jobs per second of the producer, in place of the scenario's. Raises AssertionError or TimeoutError where
    the run did not come to its end: a job that does not end, schedulers that tick no more, a process that cannot be
    stopped. No result is in `folder` then, nor an older one.
    """
    path = folder / f"{scenario.result_name(jobs)}.json"
    path.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="conveyor-fault-") as place, ExitStack() as stack:
        server = stack.enter_context(_server(scenario))
        stage = _stage(stack, scenario, server, jobs=jobs, seed=seed, folder=Path(place))
        began = time.monotonic()
        with _told(stage, path.with_suffix(".log")):
            _play(scenario, stage, rate=rate or scenario.rate or RATE)
        result = _judged(scenario, stage, seconds=time.monotonic() - began)
    result.write(path)
    return result


@contextmanager
def _server(scenario: Scenario) -> Iterator[Server]:
    with ready_server() as server:
        if scenario.parameters:
            server.configure(**scenario.parameters)
        add_entry(server)
        yield server


def _stage(stack: ExitStack, scenario: Scenario, server: Server, *, jobs: int, seed: int, folder: Path) -> Stage:
    path = folder / "history"
    history = stack.enter_context(History(path))
    watch = Watch(path)
    stack.callback(watch.close)
    environment = os.environ | server.environment | scenario.environment | {
        "DJANGO_SETTINGS_MODULE": "testproject.settings",
        "CONVEYOR_LEASE_SECONDS": str(scenario.lease),
        "CONVEYOR_GRACE_SECONDS": str(GRACE_SECONDS),
        "CONVEYOR_MAX_LOST": str(MAX_LOST),
        HISTORY: str(path),
        STORE: str(folder / "store"),
    }  # fmt: skip
    return Stage(
        server=server, environment=environment, history=history, watch=watch, chance=random.Random(seed),  # noqa: S311
        jobs=jobs, seed=seed, folder=folder,
    )  # fmt: skip


# -- the run --------------------------------------------------------------------------------------------


def _play(scenario: Scenario, stage: Stage, *, rate: float) -> None:
    """Start everything, have it broken, and stop it once every job has ended."""
    with scenario.around(stage), _fleet(scenario, stage) as fleet, _producer(scenario, stage, rate=rate) as producer:
        scenario.strike(stage)
        assert producer.wait(PATIENCE) == 0, "the producer failed"
        wait_ticked(stage.server, patience=PATIENCE)
        end_entry(stage.server)
        _wait_ended(stage)
        fleet.stop(*fleet.processes)


@contextmanager
def _fleet(scenario: Scenario, stage: Stage) -> Iterator[Fleet]:
    stage.fleet = Fleet(stage.environment, processes=scenario.processes, concurrency=scenario.concurrency)
    try:
        stage.fleet.start_scheduler()
        for worker in [stage.fleet.start_worker() for _ in range(scenario.workers)]:
            stage.fleet.wait_until_working(worker)
        yield stage.fleet
    finally:
        stage.fleet.close()


@contextmanager
def _producer(scenario: Scenario, stage: Stage, *, rate: float) -> Iterator[subprocess.Popen[bytes]]:
    arguments = ["--jobs", str(stage.jobs), "--seed", str(stage.seed), "--rate", str(rate)]
    arguments += ["--newcomers", str(scenario.newcomers)]
    if not scenario.capped:
        arguments.append("--plain")
    if scenario.only:
        arguments += ["--only", *scenario.only]
    if scenario.halves:
        arguments += ["--half-way", str(stage.half_way)]
    producer = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.producer", *arguments], env=stage.environment | scenario.producer
    )
    try:
        yield producer
    finally:
        producer.kill()
        producer.wait()


def _wait_ended(stage: Stage) -> None:
    """Wait until no job is left that has not ended."""
    left = f"SELECT count(*) FROM conveyor_job WHERE state NOT IN {tuple(sorted(TERMINAL))}"

    def ended() -> bool:
        stage.fleet.require_running()
        return stage.server.rows(left) == [(0,)]

    wait_until(ended, "every job has ended", patience=PATIENCE)


@contextmanager
def _told(stage: Stage, path: Path) -> Iterator[None]:
    """Keep what the processes said in a file where the run does not come to its end."""
    try:
        yield
    except BaseException as error:
        if started := stage.started:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n\n".join(process.dump() for process in started))
            error.add_note(f"What the processes said is in {path}.")
        raise


# -- the judgement --------------------------------------------------------------------------------------


def _judged(scenario: Scenario, stage: Stage, *, seconds: float) -> Result:
    history = read(stage.environment[HISTORY])
    names = {record["name"] for record in history if record["event"] == "offer"}
    with psycopg.connect(stage.server.url, autocommit=True) as connection:
        tables = Tables.read(connection)
        refusal = check(read_log(connection), Rules(max_lost=MAX_LOST, real_clock=True))
    violations = judge(
        history, tables, caps=_caps(scenario), puts=Store(stage.environment[STORE]).puts(),
        with_effect=with_effect(names), periods={ENTRY: PERIOD},
    )  # fmt: skip
    states = Counter(job.state for job in tables.jobs if job.idempotency_key in names)
    events = Counter(record["event"] for record in history)
    return Result(
        scenario=scenario.name,
        what=scenario.what,
        jobs=stage.jobs,
        seed=stage.seed,
        accepted=events["accept"],
        succeeded=states["succeeded"],
        failed=states["failed"] + states["cancelled"],
        refused=events["refuse"],
        begins=events["begin"],
        lost=sum(attempt.verb == "rescue" for attempt in tables.attempts),
        ticks=sum(job.idempotency_key not in names for job in tables.jobs),
        seconds=round(seconds, 1),
        recovery=recovery(history),
        victims=victims(history),
        faults=_faults(history),
        schedule=scenario.schedule(stage.jobs, stage.seed),
        violations=[str(violation) for violation in violations],
        refusal=None if refusal is None else str(refusal),
        complaints=complaints(stage),
        versions=versions(stage.server.rows("SHOW server_version")[0][0]),
    )


def _caps(scenario: Scenario) -> Caps | None:
    return Caps(queues={"orders": EXACT_CAP}, keys={"default": KEY_CAP}) if scenario.capped else None


def _faults(history: list[Record]) -> list[str]:
    """Return what was broken, and when, in seconds from the first begin of a run."""
    begins: list[Any] = [record["at"] for record in history if record["event"] == "begin"]
    return [f"{record['at'] - begins[0]:.2f} s: {record['what']}" for record in history if record["event"] == "fault"]
