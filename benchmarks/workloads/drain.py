"""Jobs that wait already are worked off: from a common start of all processes until all jobs are durably complete."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Final

import psutil

from .. import recorder
from ..figures import lost_and_doubled, per_job, rate
from ..gate import Gate
from ..meters import ServerWork, cpu_seconds
from ..stage import Connections, Stage

# How often the record is looked at, and the database once every handler has started, in seconds.
LOOK_SECONDS: Final = 0.002
# Workers that have not started a handler by then will not.
READY_SECONDS: Final = 40.0
# How long outcomes may take after the last start.
TAIL_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment (Unix time), the CPU seconds spent until then, and what the server has done."""

    at: float
    worker_cpu: float
    server_cpu: float
    server: ServerWork


@dataclass(frozen=True, slots=True)
class Work:
    """The part of a run that is measured, from its first mark to its last; `left` jobs were not complete then."""

    first: Mark
    last: Mark
    left: int
    was_cut: bool


def drain(stage: Stage, kind: str, jobs: int) -> dict[str, Any]:
    """Enqueue the jobs in bulk, then work them off; return the figures. Raises RuntimeError if it does not begin."""
    enqueued = stage.call("bulk", kind=kind, count=jobs)
    if stage.entrant.options.get("analyze"):
        # As autovacuum would have done within a minute.
        stage.settle()
    if stage.entrant.peer.name == "ceiling":
        return work_off(stage, jobs)
    work = watch(stage, jobs)
    runs = recorder.runs(stage.records)
    lost, doubled = lost_and_doubled(range(jobs), runs)
    return {
        "jobs": jobs,
        "bulk_per_second": rate(jobs, enqueued["seconds"]),
        **figures(work, jobs - work.left),
        "starts_per_second": starts_per_second(runs, work.first.at),
        "lost": 0 if work.was_cut else lost,
        "doubled": doubled,
    }


def figures(work: Work, done: int) -> dict[str, Any]:
    """Return what it was to complete so many jobs."""
    return {
        "complete": done,
        "jobs_per_second": rate(done, work.last.at - work.first.at),
        "was_cut": work.was_cut,
        "worker_cpu_ms_per_job": per_job((work.last.worker_cpu - work.first.worker_cpu) * 1e3, done),
        "server_cpu_ms_per_job": per_job((work.last.server_cpu - work.first.server_cpu) * 1e3, done),
        **work.last.server.since(work.first.server, done),
    }


def starts_per_second(runs: list[recorder.Run], begin: float) -> float:
    """Return the rate at which handlers started from the common start on; `runs` are in the order of the starts."""
    later = [run.started for run in runs if run.started >= begin]
    return rate(len(later), later[-1] - begin) if later else 0.0


def work_off(stage: Stage, jobs: int) -> dict[str, Any]:
    """Have the ceiling do the jobs that there are."""
    before = ServerWork.of(stage.server, stage.databases)
    done = stage.call("work_off")
    with stage.watching() as connections:
        left = stage.pending(connections)
    return {
        "jobs": jobs, "complete": jobs - left, "jobs_per_second": rate(jobs - left, done["seconds"]),
        "jobs_per_exchange": per_job(jobs - left, done["exchanges"], 1), "lost": left, "doubled": 0, "was_cut": False,
        **ServerWork.of(stage.server, stage.databases).since(before, jobs),
    }  # fmt: skip


def watch(stage: Stage, jobs: int, *, is_all: bool = True) -> Work:
    """Work the jobs off until all are complete, or the run has to be cut.

    If these are not all, until so many have started: the workers are frozen then, and what is complete is counted.
    Raises RuntimeError if not every process starts a handler.
    """
    server = [stage.server.postmaster()]
    with stage.workers() as workers, Gate(stage.records) as gate, stage.watching() as connections:
        gate.gather(stage.entrant.processes, workers, READY_SECONDS)
        before = ServerWork.of(stage.server, stage.databases)
        cpu = cpu_seconds(workers), cpu_seconds(server)
        first = Mark(gate.open(), *cpu, before)
        was_cut = not _started(stage, workers, jobs, stage.cap)
        ended, left = _completed(stage, connections, 0.0 if was_cut else TAIL_SECONDS) if is_all else (time.time(), 0)
        cpu = cpu_seconds(workers), cpu_seconds(server)
        last = Mark(ended, *cpu, stage.work_done(workers))
        if not is_all:
            with stage.watching() as again:
                left = stage.pending(again)
        return Work(first, last, left, was_cut)


def _completed(stage: Stage, connections: Connections, seconds: float) -> tuple[float, int]:
    """Wait until all jobs are complete, for at most `seconds`; return when they were, and how many were left then."""
    until = time.monotonic() + seconds
    while True:
        # What is complete when a look begins is what it sees, however long it takes.
        moment, left = time.time(), stage.pending(connections)
        if not left or time.monotonic() > until:
            return moment, left
        time.sleep(LOOK_SECONDS)


def _started(stage: Stage, workers: list[psutil.Popen], jobs: int, seconds: float) -> bool:
    """Wait until so many handlers have started; say whether they did in that time."""
    until = time.monotonic() + seconds
    while recorder.count(stage.records) < jobs:
        if time.monotonic() > until or all(worker.poll() is not None for worker in workers):
            return False
        time.sleep(LOOK_SECONDS)
    return True
