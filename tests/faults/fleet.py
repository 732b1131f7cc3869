"""The worker and scheduler processes of a run, which faults kill, freeze and start anew."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import psutil

from conveyor_django.worker.interrupt import Interrupted

from ..support.processes import Process

PATIENCE: Final = 60.0
_TRACEBACK: Final = "Traceback (most recent call last):"
_INTERRUPTED: Final = f"{Interrupted.__module__}.{Interrupted.__qualname__}"


class Fleet:
    """Real ``python -m testproject`` processes; what is changed in `environment` is for those that are started next."""

    def __init__(self, environment: Mapping[str, str], *, processes: int, concurrency: int) -> None:
        self.environment = dict(environment)
        self._size = ("--processes", str(processes), "--concurrency", str(concurrency))
        self._processes = processes
        self.workers: list[Process] = []
        self.schedulers: list[Process] = []
        # Children of supervisors that were killed alone.
        self._orphans: list[psutil.Process] = []
        # What was killed, or stopped, and is no part of the fleet any more.
        self.gone: list[Process] = []

    # -- starting -------------------------------------------------------------------------------------------

    def start_worker(self, *arguments: str, **changes: str) -> Process:
        """Start a supervisor with its children, without the scheduler's loop; `changes` to its environment."""
        worker = Process(
            "conveyor_worker", *self._size, "--no-scheduler", *arguments, environment=self.environment | changes
        )
        self.workers.append(worker)
        return worker

    def start_scheduler(self, **changes: str) -> Process:
        """Start a scheduler."""
        scheduler = Process("conveyor_scheduler", environment=self.environment | changes)
        self.schedulers.append(scheduler)
        return scheduler

    def wait_until_working(self, worker: Process) -> None:
        """Wait until all children of a worker claim jobs."""
        worker.wait_for("worker.started", count=self._processes)

    # -- looking --------------------------------------------------------------------------------------------

    @property
    def processes(self) -> list[Process]:
        """The workers and schedulers that belong to it now."""
        return [*self.workers, *self.schedulers]

    @property
    def everything(self) -> list[Process]:
        """What ever belonged to it."""
        return [*self.gone, *self.processes]

    def children(self) -> list[int]:
        """Return the pids of the children of all workers that live and have begun to claim."""
        return sorted(pid for worker in self.workers for pid in _working(worker))

    def pids(self) -> list[int]:
        """Return the pids of all processes, children included."""
        return [member.pid for process in self.processes for member in tree(process)]

    def worker_of(self, child: int) -> Process:
        """Return the worker whose child that is."""
        return next(worker for worker in self.workers if child in worker.child_pids())

    def incarnation(self, child: int) -> str:
        """Return the owner of that child's leases."""
        started = self.worker_of(child).log("child.started", pid=child)
        return str(started[-1]["incarnation"])

    def require_running(self) -> None:
        """Raise AssertionError if one of them has ended by itself."""
        for process in self.processes:
            if process.returncode is not None:
                raise AssertionError(f"a process of the fleet ended by itself:\n{process.dump()}")

    # -- what faults do -------------------------------------------------------------------------------------

    def kill(self, process: Process) -> None:
        """Kill a worker or scheduler and all of its children with SIGKILL, and let it go."""
        kill_all(tree(process))
        process.wait(PATIENCE)
        self._let_go(process)

    def kill_alone(self, worker: Process) -> None:
        """Kill a worker without its children, and let it go; they have their own way to an end."""
        supervisor, *children = tree(worker)
        kill_all([supervisor])
        self._orphans += children
        self._let_go(worker)

    def stop(self, *stopped: Process) -> None:
        """Stop these by SIGTERM, all at once, and let them go. Raises AssertionError if one fails or does not end."""
        for process in stopped:
            process.signal(signal.SIGTERM)
        for process in stopped:
            code = process.wait(PATIENCE)
            self._let_go(process)
            assert code == 0, f"exit code {code}:\n{process.dump()}"

    def _let_go(self, process: Process) -> None:
        for group in (self.workers, self.schedulers):
            if process in group:
                group.remove(process)
        self.gone.append(process)

    # -- the end --------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Make sure that nothing of it is left, whatever happened."""
        kill_all([*self._orphans, *(member for process in self.processes for member in tree(process))])
        for process in self.everything:
            process.wait(PATIENCE)

    def count(self, name: str) -> int:
        """Return how often that event was logged."""
        return sum(1 for _ in self.events(name))

    def events(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the log lines of that event, of all processes that there ever were."""
        for process in self.everything:
            yield from process.log(name)

    def tracebacks(self) -> list[str]:
        """Return the tracebacks beside their log lines: of what nobody caught."""
        return [text for process in self.everything for text in tracebacks(process.other)]


def tracebacks(lines: Iterable[str]) -> Iterator[str]:
    """Yield each traceback of a process's stderr, but for interrupts.

    One that arrives in a callback of psycopg's C code is printed there; it is raised again (worker/interrupt.py).
    """
    found: list[str] = []
    for line in lines:
        if found or line == _TRACEBACK:
            found.append(line)
        if len(found) > 1 and line and not line.startswith(" "):
            if not line.startswith(_INTERRUPTED):
                yield "\n".join(found)
            found = []


def tree(process: Process) -> list[psutil.Process]:
    """Return a process and its children; nothing where it has ended."""
    if process.returncode is not None:
        return []
    top = psutil.Process(process.pid)
    return [top, *top.children(recursive=True)]


def kill_all(processes: Iterable[psutil.Process]) -> None:
    """Kill with SIGKILL; one that has ended is none, even if its pid is another's by now."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def send(number: signal.Signals, pids: Iterable[int]) -> None:
    """Send a signal to processes, of which some may have ended."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _working(worker: Process) -> set[int]:
    started = {event["process"] for event in worker.log("worker.started")}
    return started & set(worker.child_pids())
