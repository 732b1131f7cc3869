"""Which queues a worker looks at, in which order, and how long their leases are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from ..db import Connection
from ..models import Job, Queue


class QueuePlan:
    """The queues of one worker process; written by one thread at a time, read by all.

    Without names it takes every queue that is found to have jobs.
    """

    def __init__(self, names: Iterable[str], *, alias: str, lease_seconds: float) -> None:
        self._names = list(names)
        self._discovers = not self._names
        self._alias = alias
        self._lease = lease_seconds
        self._own_leases: dict[str, float] = {}
        self._turn = count()

    @property
    def is_empty(self) -> bool:
        """Whether it knows of no queue: none has had jobs yet."""
        return not self._names

    def wants(self, queue: str) -> bool:
        """Say whether a queue is this worker's; one that discovers learns its name."""
        if self._discovers and queue not in self._names:
            self._names.append(queue)
        return queue in self._names

    def discover(self, connection: Connection) -> None:
        """Learn the names of the queues that have jobs, if this worker takes every queue."""
        if self._discovers:
            for queue in Job.objects.db_manager(self._alias).list_queues(on=connection):
                self.wants(queue)

    def refresh_leases(self, connection: Connection) -> None:
        """Read the queues' own leases."""
        self._own_leases = Queue.objects.db_manager(self._alias).list_leases(on=connection)

    def turn(self) -> dict[str, float]:
        """Return {queue: lease in seconds} in the order of this turn: another queue goes first each time."""
        names = self._names
        if not names:
            return {}
        first = next(self._turn) % len(names)
        return {name: self._own_leases.get(name, self._lease) for name in names[first:] + names[:first]}

    @property
    def longest_lease(self) -> float:
        """The longest lease in force."""
        return max([self._lease, *self._own_leases.values()])

    @property
    def shortest_lease(self) -> float:
        """The shortest lease in force."""
        return min([self._lease, *self._own_leases.values()])
