"""The producer's side of the history: what it offered, what was accepted, what was refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

from django.db import InterfaceError, OperationalError, connection

from conveyor_django import InvalidWorkflow, set_caps, workflow
from conveyor_django.models import Job

from . import jobs, stubborn
from .workload import EXACT_CAP, KEY_CAP, STUBBORN, Graph, Single

T = TypeVar("T")

# Between two tries while the database is away.
PAUSE_SECONDS: Final = 0.1


class Enqueuing:
    """Enqueues until it is accepted; each job's key is its name."""

    def __init__(self) -> None:
        self._history = jobs.history()
        self._never = threading.Event()

    def set_caps(self) -> None:
        """Set the caps of the workload, as a project does: while workers run."""
        self._insist([], _set_caps)

    def enqueue(self, item: Single | Graph) -> None:
        """Enqueue an item's jobs; return once all of them are accepted."""
        for name in item.names:
            self._history.note("offer", name=name, key=name)
        enqueue = _enqueue_graph if isinstance(item, Graph) else _enqueue_single
        ids = self._insist(item.names, lambda: enqueue(item))
        for name in item.names:
            self._history.note("accept", name=name, job=ids[name])

    def _insist(self, names: list[str], call: Callable[[], T]) -> T:
        """Call until the database answers; any other error is raised: a repeated enqueue must not be one (P3)."""
        while True:
            try:
                return call()
            except (OperationalError, InterfaceError) as error:
                for name in names:
                    self._history.note("refuse", name=name, error=repr(error))
                # It may be of no use any more.
                connection.close()
                self._never.wait(PAUSE_SECONDS)


def _set_caps() -> None:
    set_caps("orders", exact=EXACT_CAP)
    set_caps("default", per_key=KEY_CAP)


def _enqueue_single(item: Single) -> dict[str, int]:
    module = stubborn if item.kind in STUBBORN else jobs
    task = getattr(module, item.kind).using(idempotency_key=item.name, concurrency_key=item.key)
    return {item.name: _id(task.enqueue(item.name, item.work).id)}


def _enqueue_graph(graph: Graph) -> dict[str, int]:
    """Store the workflow, or find it stored by an earlier try whose reply was lost."""
    # Raised where a key is taken: then all of it is there, since it is stored in one transaction.
    with suppress(InvalidWorkflow):
        _store(graph)
    found = dict(Job.objects.filter(idempotency_key__in=graph.names).values_list("idempotency_key", "id"))
    assert sorted(found) == sorted(graph.names), (graph, found)
    return found


def _store(graph: Graph) -> None:
    def call(name: str) -> Any:
        return jobs.node.using(idempotency_key=name).bind(name, graph.work)

    with workflow(graph.name, on_success=call(graph.callback)) as wf:
        root = wf.add(call(graph.root))
        leaves = [wf.add(call(name), after=root) for name in graph.leaves]
        wf.add(call(graph.join), after=leaves)


def _id(result_id: str) -> int:
    """Return a job's id from its result's, which is `alias:id`."""
    return int(result_id.rpartition(":")[2])
