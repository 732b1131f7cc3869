"""What this process enqueues, counted where it does it: by prometheus_client's own counter, for its sake alone.

That one knows the multiprocess mode: where PROMETHEUS_MULTIPROC_DIR is set, each process writes its numbers to a file
there, and any of them can tell those of all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from .. import counting
from ..conf import conveyor_settings
from ..worker.tally import OTHER
from .catalog import METRICS
from .client import CollectorRegistry, Counter, Metric, MultiProcessCollector

MULTIPROC_DIR: Final = "PROMETHEUS_MULTIPROC_DIR"
# Queues and tasks that are told apart: a project may make up queues' names as it goes.
MOST: Final = 1000

_DEFINITION: Final = METRICS["conveyor_enqueued_total"]


class Enqueued:
    """The counter of one process, and who reads it."""

    def __init__(self) -> None:
        # Of its own: in the client's default registry it would show in two endpoints of one process.
        self._registry = CollectorRegistry()
        self._counter = Counter(_DEFINITION.name, _DEFINITION.help, _DEFINITION.label_names, registry=self._registry)
        # To ask the counter for its child costs more than to count.
        self._children: dict[tuple[str, str], Counter] = {}

    def count(self, queue: str, task: str, jobs: int) -> None:
        """Count jobs that were stored."""
        child = self._children.get((queue, task)) or self._child(queue, task)
        child.inc(jobs)

    def collect(self) -> Iterator[Metric]:
        """Give the counter's family: of this process, or in multiprocess mode of all, those that have ended too."""
        if not (folder := os.environ.get(MULTIPROC_DIR)):
            yield from self._registry.collect()
            return
        # What else the project counts in those files is for its own endpoint.
        ours = _DEFINITION.name.removesuffix("_total")
        collected = MultiProcessCollector(None, folder).collect()  # type: ignore[no-untyped-call]
        yield from (family for family in collected if family.name == ours)

    def _child(self, queue: str, task: str) -> Counter:
        if len(self._children) >= MOST:
            queue = task = OTHER
        alias = conveyor_settings().database_of(queue)
        child = self._children[queue, task] = self._counter.labels(alias, queue, task)
        return child


_enqueued: Enqueued | None = None


def count_enqueues() -> Enqueued:
    """Count from here on what this process enqueues; return who counts. Harmless where it does already."""
    global _enqueued  # noqa: PLW0603 - one for the process, like the hook that it is called by
    if _enqueued is None:
        _enqueued = Enqueued()
        counting.on_enqueued = _enqueued.count
    return _enqueued
