"""Conveyor itself: `task.enqueue()`, `enqueue_many()` and the command `conveyor_worker`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

from . import base, filling
from .framework import FrameworkPeer


class Conveyor(FrameworkPeer):
    """A worker has `processes` children; jobs are spread over `queues` queues, each with the exact cap `cap` if any.

    With `databases` = 2 every second job is in a queue of the second database, which a worker command of its own
    serves. With `handler` = "async" the no-op handlers are coroutines.
    """

    backend = "conveyor"
    defaults = {"processes": 2, "queues": 1, "cap": None, "databases": 1, "handler": "sync", "poll": 1.0}

    def setup(self) -> None:
        """Migrate, and set the caps."""
        from conveyor_django import set_caps

        for alias in self._aliases():
            self.manage("migrate", database=alias, verbosity=0)
        if (cap := self.options["cap"]) is not None:
            for name in self.names() or ["default"]:
                set_caps(name, exact=cap)

    def task(self, kind: str) -> Any:
        """Return the task of that kind."""
        from benchmarks.project import tasks

        return tasks.async_noop if kind == "noop" and self.options["handler"] == "async" else getattr(tasks, kind)

    def names(self) -> list[str]:
        """Return the names of the queues, which take turns."""
        if self.options["databases"] > 1:
            return ["default", "other"]
        return [f"queue-{number}" for number in range(self.options["queues"])] if self.options["queues"] > 1 else []

    def enqueue_bulk(self, kind: str, numbers: range) -> float:
        """By enqueue_many, once per database and chunk."""
        from conveyor_django import enqueue_many

        self.connect()
        task, names = self.task(kind), self.names()
        parts = [numbers[place :: self.options["databases"]] for place in range(self.options["databases"])]
        begin = time.perf_counter()
        for part in parts:
            for chunk in self.chunks(part):
                enqueue_many([self._keyed(task, n, names).bind(n, time.time(), self.pad) for n in chunk])
        return time.perf_counter() - begin

    def enqueue_singly(self, numbers: range) -> float:
        """By enqueue, in autocommit, with a key each."""
        task = self.task("noop")
        self.connect()
        begin = time.perf_counter()
        for n in numbers:
            self._keyed(task, n).enqueue(n, 0.0, self.pad)
        return time.perf_counter() - begin

    def enqueue_paced(self, numbers: range, rate: float) -> None:
        """By enqueue, in autocommit, with a key each."""
        task = self.task("noop")
        self.connect()
        base.pace(numbers, rate, lambda n, now: self._keyed(task, n).enqueue(n, now, self.pad))

    def fill(self, given: argparse.Namespace) -> dict[str, Any]:
        """Put `count` no-op jobs in line by SQL, each like one that was enqueued, but for its id, place and key."""
        self.enqueue_bulk("noop", range(given.first, given.first + 1))
        filling.copy_jobs(f"job-{given.first}", given.count - 1)
        return {"waiting": given.count}

    def work(self, concurrency: int) -> None:
        """Become the worker command, with `concurrency` jobs in each of its processes."""
        alias = os.environ.get("BENCHMARK_ALIAS", "default")
        names = [name for name in self.names() or ["default"] if (name == "other") == (alias == "other")]
        os.execv(
            sys.executable,
            [
                sys.executable, "-m", "benchmarks.project", "conveyor_worker", "--database", alias,
                "--queues", ",".join(names), "--processes", str(self.options["processes"]),
                "--concurrency", str(concurrency), "--poll", str(self.options["poll"]), "--verbosity", "0",
            ],
        )  # fmt: skip

    def _aliases(self) -> list[str]:
        return ["default", "other"][: self.options["databases"]]

    def _keyed(self, task: Any, number: int, names: list[str] | None = None) -> Any:
        """Return the task with what this one call has of its own."""
        own: dict[str, Any] = {"priority": self.priority} if self.is_background else {}
        if os.environ.get(base.KEYS_VARIABLE):
            own["idempotency_key"] = f"job-{number}"
        if names:
            own["queue_name"] = names[number % len(names)]
        return task.using(**own) if own else task


if __name__ == "__main__":
    base.run(Conveyor)
