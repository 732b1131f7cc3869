"""Processes that are killed and frozen."""

from __future__ import annotations

import signal
from typing import Final

import psycopg

from ...support.waits import wait_until
from ..fleet import send
from ..gates import EARLY, LATER, Gates
from ..stage import PATIENCE, Stage
from ..workload import STUBBORN
from .base import Scenario, at_a_third

# Of children in a row.
KILLS: Final = 4


def kill_child(stage: Stage) -> None:
    """Kill the busiest child with SIGKILL; its supervisor replaces it."""
    pid = stage.busiest_child()
    with stage.fault("kill -9 of a child", pids=[pid]):
        send(signal.SIGKILL, [pid])


def kill_everything(stage: Stage) -> None:
    """Kill supervisors, children and schedulers with SIGKILL, then start as many anew."""
    stage.busiest_child()
    fleet = stage.fleet
    workers, schedulers = list(fleet.workers), list(fleet.schedulers)
    with stage.fault("kill -9 of everything", pids=fleet.pids()):
        for process in [*workers, *schedulers]:
            fleet.kill(process)
        for _ in schedulers:
            fleet.start_scheduler()
        for _ in workers:
            fleet.start_worker()


def freeze_child(stage: Stage) -> None:
    """Freeze the busiest child until its leases are over and its jobs taken by others, then let it go on."""
    pid = stage.busiest_child()
    owner = stage.fleet.incarnation(pid)
    with stage.fault("SIGSTOP of a child past its lease"):
        send(signal.SIGSTOP, [pid])
        try:
            _wait_taken(stage, owner)
        finally:
            send(signal.SIGCONT, [pid])


def thaw_early(stage: Stage) -> None:
    """Freeze a child of which each run will be a zombie, and let it go on while the newer runs of its jobs are at work.

    Those go on only when the zombie's process has ended, and with it all that it had to say. It is not told that it was
    declared dead before its handlers have ended: that is by its heartbeat, which a lock of somebody else's keeps away.
    """
    gates, fleet = Gates(stage.folder), stage.fleet
    stage.wait(lambda: len(gates.waiting(EARLY)) == len(STUBBORN), "every place is taken by a run that does not listen")
    [worker], [pid], jobs = fleet.workers, fleet.children(), gates.waiting(EARLY)
    owner = fleet.incarnation(pid)
    with stage.fault("SIGSTOP of a child until the next runs of its jobs are at work"):
        send(signal.SIGSTOP, [pid])
        try:
            gates.say_frozen(jobs)
            # What was lost before runs alone in its process.
            fleet.start_worker("--processes", str(len(jobs)), "--concurrency", "1")
            stage.wait(lambda: gates.waiting(LATER) == jobs, "the next run of each is at work")
            _wait_declared_dead(stage, owner)
            with psycopg.connect(stage.server.url) as other:
                other.execute("LOCK TABLE conveyor_worker IN SHARE ROW EXCLUSIVE MODE")
                send(signal.SIGCONT, [pid])
                stage.wait(lambda: not stage.runs_of(pid), "the zombie's handlers have ended")
        finally:
            send(signal.SIGCONT, [pid])
        stage.wait(lambda: pid not in worker.child_pids(), "the zombie has ended")
        gates.settle()


def freeze_supervisor(stage: Stage) -> None:
    """Freeze a supervisor, and kill one of its children meanwhile: nobody replaces it, its leases have to lapse."""
    pid = stage.busiest_child()
    owner, worker = stage.fleet.incarnation(pid), stage.fleet.worker_of(pid)
    with stage.fault("SIGSTOP of a supervisor, kill -9 of its child", pids=[pid]):
        send(signal.SIGSTOP, [worker.pid])
        try:
            send(signal.SIGKILL, [pid])
            _wait_taken(stage, owner)
        finally:
            send(signal.SIGCONT, [worker.pid])


def kill_supervisor(stage: Stage) -> None:
    """Kill a supervisor alone: its children drain and end; another is started."""
    stage.busiest_child()
    worker = stage.chance.choice(stage.fleet.workers)
    with stage.fault("kill -9 of a supervisor"):
        stage.fleet.kill_alone(worker)
        stage.fleet.start_worker()


def kill_scheduler(stage: Stage) -> None:
    """Kill the scheduler, and start another."""
    [scheduler] = stage.fleet.schedulers
    with stage.fault("kill -9 of the scheduler", pids=[scheduler.pid]):
        stage.fleet.kill(scheduler)
        stage.fleet.start_scheduler()


def kill_several(stage: Stage) -> None:
    """Kill one child after the other, each as soon as another run has begun."""
    for _ in range(KILLS):
        before = stage.watch.begins
        kill_child(stage)
        stage.wait(lambda before=before: stage.watch.begins > before, "another run has begun")


def _wait_taken(stage: Stage, owner: str) -> None:
    """Wait until a process that cannot do anything holds no job any more."""
    held = f"SELECT 1 FROM conveyor_job WHERE state = 'running' AND lease_owner = '{owner}'"
    wait_until(lambda: not stage.server.rows(held), "others have taken its jobs", patience=PATIENCE)


def _wait_declared_dead(stage: Stage, owner: str) -> None:
    known = f"SELECT 1 FROM conveyor_worker WHERE incarnation = '{owner}'"
    wait_until(lambda: not stage.server.rows(known), "its worker was declared dead", patience=PATIENCE)


SCENARIOS = [
    Scenario(
        name="kill-child",
        what="kill -9 of the child that runs the most jobs",
        strike=at_a_third(kill_child),
    ),
    Scenario(
        name="kill-everything",
        what="kill -9 of the supervisor, its children and the scheduler at once, all started anew",
        strike=at_a_third(kill_everything),
    ),
    Scenario(
        name="kill-supervisor",
        what="kill -9 of the supervisor alone, another one started",
        strike=at_a_third(kill_supervisor),
    ),
    Scenario(
        name="kill-several",
        what=f"kill -9 of {KILLS} children, one after the other",
        strike=at_a_third(kill_several),
    ),
    Scenario(
        name="freeze-child",
        what="SIGSTOP of a child until others have taken its jobs, then SIGCONT",
        strike=at_a_third(freeze_child),
    ),
    Scenario(
        name="thaw-early",
        what="SIGSTOP of a child with handlers that cannot be stopped, SIGCONT while others run its jobs",
        strike=thaw_early,
        processes=1,
        concurrency=len(STUBBORN),
        only=STUBBORN,
        capped=False,
    ),
    Scenario(
        name="freeze-supervisor",
        what="SIGSTOP of the supervisor and kill -9 of its child until others have taken its jobs, then SIGCONT",
        strike=at_a_third(freeze_supervisor),
    ),
]
