"""Which queues a worker looks at, in which order, and how long their leases are."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..db import Connection
from ..models import Job, Queue


class QueuePlan:
    """The queues of one worker process; written by one thread at a time, read by all.

    Without names it takes every queue that is found to have jobs. The queue that had no turn for the longest time goes
    first: however long the backlog of one is, each of the others that has jobs is served once before it comes again.
    """

    def __init__(self, names: Iterable[str], *, alias: str, lease_seconds: float) -> None:
        self._names = list(names)
        self._discovers = not self._names
        self._alias = alias
        self._lease = lease_seconds
        self._own_leases: dict[str, float] = {}

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
        """Return {queue: lease in seconds} in the order in which it is their turn."""
        return {name: self._own_leases.get(name, self._lease) for name in self._names}

    def served(self, queues: Collection[str]) -> None:
        """Note from which queues jobs were claimed: these go last now."""
        if queues:
            # A new list: another thread may read the old one.
            self._names = sorted(self._names, key=lambda name: name in queues)

    @property
    def longest_lease(self) -> float:
        """The longest lease in force."""
        return max([self._lease, *self._own_leases.values()])

    @property
    def shortest_lease(self) -> float:
        """The shortest lease in force."""
        return min([self._lease, *self._own_leases.values()])
