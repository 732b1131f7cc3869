"""What this process enqueues, counted where it does it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Final, Protocol

from .. import counting
from ..conf import conveyor_settings
from ..worker.tally import OTHER
from .catalog import METRICS
from .client import CollectorRegistry, Counter, Metric, MultiProcessCollector
from .collector import Families

MULTIPROC_DIR: Final = "PROMETHEUS_MULTIPROC_DIR"
# Queues and tasks that are told apart: a project may make up queues' names as it goes.
MOST: Final = 1000

_NAME: Final = "conveyor_enqueued_total"
_REST: Final = (OTHER, OTHER)


class Enqueued(Protocol):
    """Who counts enqueues, and tells the count to a registry of prometheus_client's."""

    def count(self, queue: str, task: str, jobs: int) -> None:
        """Count jobs that were stored."""
        ...

    def collect(self) -> Iterator[Metric]:
        """Give the counter's family."""
        ...


class OwnEnqueued:
    """Counts for one process. Not by the client's counter, which takes some four times as long."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stored: dict[tuple[str, str], int] = {}

    def count(self, queue: str, task: str, jobs: int) -> None:
        """Count jobs that were stored."""
        label = (queue, task)
        with self._lock:
            if label in self._stored:
                self._stored[label] += jobs
            else:
                self._count_first(label, jobs)

    def collect(self) -> Iterator[Metric]:
        """Give the counter's family."""
        with self._lock:
            stored = self._stored.copy()
        families = Families()
        for (queue, task), jobs in stored.items():
            families.add(_NAME, jobs, conveyor_settings().database_of(queue), queue, task)
        return families.all()

    def _count_first(self, label: tuple[str, str], jobs: int) -> None:
        kept = label if len(self._stored) < MOST else _REST
        self._stored[kept] = self._stored.get(kept, 0) + jobs


class SharedEnqueued:
    """Counts for all processes that write to one PROMETHEUS_MULTIPROC_DIR, by the client's counter, which knows how."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        definition = METRICS[_NAME]
        # In a registry of its own: the project's may show in another endpoint of the same process.
        self._counter = Counter(_NAME, definition.help, definition.label_names, registry=CollectorRegistry())
        # To ask the counter for its child costs more than to count.
        self._children: dict[tuple[str, str], Counter] = {}

    def count(self, queue: str, task: str, jobs: int) -> None:
        """Count jobs that were stored."""
        child = self._children.get((queue, task)) or self._child((queue, task))
        child.inc(jobs)

    def collect(self) -> Iterator[Metric]:
        """Give the counter's family of all the processes, those that have ended too.

        What else the project counts in those files is for its own endpoint.
        """
        collected = MultiProcessCollector(None, self._folder).collect()  # type: ignore[no-untyped-call]
        return (family for family in collected if family.name == _NAME.removesuffix("_total"))

    def _child(self, label: tuple[str, str]) -> Counter:
        kept = label if len(self._children) < MOST else _REST
        child = self._counter.labels(conveyor_settings().database_of(kept[0]), *kept)
        self._children[kept] = child
        return child


_enqueued: Enqueued | None = None


def count_enqueues() -> Enqueued:
    """Count from here on what this process enqueues; return who counts. Harmless where it does already."""
    global _enqueued  # noqa: PLW0603 - one for the process, like the hook that it is called by
    if _enqueued is None:
        folder = os.environ.get(MULTIPROC_DIR)
        _enqueued = SharedEnqueued(folder) if folder else OwnEnqueued()
        counting.on_enqueued = _enqueued.count
    return _enqueued
