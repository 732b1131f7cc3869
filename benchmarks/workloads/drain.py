"""Jobs that wait already are worked off: from the first start of a handler until all are durably complete."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Final

import psutil

from .. import recorder
from ..figures import lost_and_doubled, per_job, rate
from ..meters import ServerWork, cpu_seconds
from ..stage import Stage

# How often the record is looked at, and the database once every handler has started, in seconds.
LOOK_SECONDS: Final = 0.002
# Workers that have not started a handler by then will not.
READY_SECONDS: Final = 40.0
# How long outcomes may take after the last start.
TAIL_SECONDS: Final = 15.0


@dataclass(slots=True)
class Progress:
    """What was seen of one run: when the first record and the end were seen (Unix time), and the CPU between."""

    cpu: tuple[float, float] | None = None
    ended: float = 0.0
    left: int = 0
    was_cut: bool = False
    worker_cpu: float = 0.0
    server_cpu: float = 0.0


def drain(stage: Stage, kind: str, jobs: int) -> dict[str, Any]:
    """Enqueue the jobs in bulk, then work them off; return the figures. Raises RuntimeError if no handler started."""
    enqueued = stage.call("bulk", kind=kind, count=jobs)
    if stage.entrant.options.get("analyze"):
        # As autovacuum would have done within a minute.
        stage.settle()
    if stage.entrant.peer.name == "ceiling":
        return _work_off(stage, jobs)
    before = ServerWork.of(stage.server, stage.databases)
    with stage.workers() as workers:
        progress = _watch(stage, workers, jobs)
    runs = recorder.runs(stage.records)
    if not runs:
        raise RuntimeError("no handler has started")
    done = jobs - progress.left
    lost, doubled = lost_and_doubled(range(jobs), runs)
    return {
        "jobs": jobs,
        "complete": done,
        "jobs_per_second": rate(done, progress.ended - runs[0].started),
        "starts_per_second": rate(len(runs) - 1, runs[-1].started - runs[0].started),
        "bulk_per_second": rate(jobs, enqueued["seconds"]),
        "was_cut": progress.was_cut,
        "lost": 0 if progress.was_cut else lost,
        "doubled": doubled,
        "worker_cpu_ms_per_job": per_job(progress.worker_cpu * 1e3, done),
        "server_cpu_ms_per_job": per_job(progress.server_cpu * 1e3, done),
        **ServerWork.of(stage.server, stage.databases).since(before, done),
    }


def _work_off(stage: Stage, jobs: int) -> dict[str, Any]:
    before = ServerWork.of(stage.server, stage.databases)
    done = stage.call("work_off")
    with stage.watching() as connections:
        left = stage.pending(connections)
    return {
        "jobs": jobs, "complete": jobs - left, "jobs_per_second": rate(jobs - left, done["seconds"]),
        "jobs_per_exchange": per_job(jobs - left, done["exchanges"], 1), "lost": left, "doubled": 0, "was_cut": False,
        **ServerWork.of(stage.server, stage.databases).since(before, jobs),
    }  # fmt: skip


def _watch(stage: Stage, workers: list[psutil.Popen], jobs: int) -> Progress:
    """Wait until all jobs are complete, or the run has to be cut."""
    progress = Progress()
    server = [stage.server.postmaster()]
    launched = time.monotonic()
    first = 0.0
    with stage.watching() as connections:
        while (started := recorder.count(stage.records)) < jobs:
            now = time.monotonic()
            if started and progress.cpu is None:
                first, progress.cpu = now, (cpu_seconds(workers), cpu_seconds(server))
            if _is_over(workers, now - launched, now - first if progress.cpu else None, stage.cap):
                progress.was_cut = True
                break
            time.sleep(LOOK_SECONDS)
        progress.left = stage.pending(connections)
        until = time.monotonic() + (0.0 if progress.was_cut else TAIL_SECONDS)
        while progress.left and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
            progress.left = stage.pending(connections)
        progress.ended = time.time()
    if progress.cpu is not None:
        progress.worker_cpu = cpu_seconds(workers) - progress.cpu[0]
        progress.server_cpu = cpu_seconds(server) - progress.cpu[1]
    return progress


def _is_over(workers: list[psutil.Popen], waited: float, worked: float | None, cap: float) -> bool:
    """Say whether there is nothing more to wait for."""
    if all(worker.poll() is not None for worker in workers):
        return True
    return waited > READY_SECONDS if worked is None else worked > cap
