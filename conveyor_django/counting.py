"""Who counts what this process enqueues: nobody, until a worker that serves metrics or a web process says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .managers.accepting import NewJob

# Called with the queue, the task and the number of jobs of each that were stored, in any thread. Jobs count when they
# are stored, so those of a transaction that rolls back later have counted as well. Looked at before each call:
# where it is None, an enqueue pays for that look alone.
on_enqueued: Callable[[str, str, int], None] | None = None


def count_stored(jobs: Iterable[NewJob]) -> None:
    """Count many jobs, each queue and task once."""
    if on_enqueued is None:
        return
    for (queue, task), stored in Counter((job.queue, job.task) for job in jobs).items():
        on_enqueued(queue, task, stored)
