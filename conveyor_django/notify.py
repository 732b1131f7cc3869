"""The wake-up: a NOTIFY that tells idle workers of a queue that there is something to claim.

A hint and nothing more: a worker also looks on its own, and once more a window after whatever woke it. So the
first ring of a window is enough (the leading edge), and a lost one costs a poll's time.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

import psycopg
from django.db import Error as DjangoError
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from .conf import conveyor_settings
from .log import event, get_logger
from .managers.base import Connection
from .pipeline import Hint

# The payload of a notification is the queue's name.
CHANNEL: Final = "conveyor_ready"
# Here it is the id of a running job that was cancelled.
CANCEL_CHANNEL: Final = "conveyor_cancel"

logger = get_logger("notify")


class Doorbell:
    """Which queues were rung lately, in this process; `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._lock = threading.Lock()
        self._rung: dict[tuple[str, str], float] = {}

    def first_of_window(self, alias: str, queues: Iterable[str], window: float) -> list[str]:
        """Return the queues that were not rung in the last `window` seconds, and note them as rung."""
        now = self._clock()
        with self._lock:
            last = {queue: self._rung.get((alias, queue)) for queue in queues}
            due = [queue for queue, rung in last.items() if rung is None or now - rung >= window]
            self._rung.update({(alias, queue): now for queue in due})
            return due

    def due_at(self, alias: str, queue: str, window: float) -> float | None:
        """Return what time it is if the queue was not rung in the last `window` seconds, else None; note nothing."""
        now = self._clock()
        rung = self._rung.get((alias, queue))
        return now if rung is None or now - rung >= window else None

    def note(self, alias: str, queue: str, at: float) -> None:
        """Note that a ring of the queue has arrived which set out at that time."""
        with self._lock:
            self._rung[alias, queue] = max(at, self._rung.get((alias, queue), at))

    def forget(self, alias: str, queues: Iterable[str]) -> None:
        """Let the next ring of these queues through: the last one did not arrive."""
        with self._lock:
            for queue in queues:
                self._rung.pop((alias, queue), None)


class Hooks:
    """Which queues the open transaction of a connection will ring at its commit: one hook each is enough."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._lock = threading.Lock()
        self._hooked: WeakKeyDictionary[BaseDatabaseWrapper, tuple[list[Any], set[str]]] = WeakKeyDictionary()

    def add(self, connection: BaseDatabaseWrapper, queues: Iterable[str]) -> list[str]:
        """Return the queues that need a hook in the connection's open transaction, and note them."""
        # Django makes a new list at each commit and at each rollback, also to a savepoint. While the list is
        # the same one, a hook that is in it survives whenever a row written now does.
        current = connection.run_on_commit
        with self._lock:
            noted, hooked = self._hooked.get(connection, (None, set()))
            if noted is not current:
                hooked = set()
                self._hooked[connection] = (current, hooked)
            new = [queue for queue in dict.fromkeys(queues) if queue not in hooked]
            hooked.update(new)
            return new


doorbell: Final = Doorbell()
_hooks: Final = Hooks()

if hasattr(os, "register_at_fork"):
    # A lock that another thread held at the fork would stay locked in the child for ever.
    os.register_at_fork(after_in_child=doorbell.reset)
    os.register_at_fork(after_in_child=_hooks.reset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """A ring that goes in an enqueue's own round trip, behind its commit: whoever hears it finds the job.

    It is noted once it has arrived, as rung when it set out: whoever is held back by it counts on the look that workers
    take a window after hearing it. Of several that set out at once each arrives.
    """

    hint: Hint
    queue: str
    alias: str
    at: float

    @classmethod
    def due(cls, queue: str, *, alias: str) -> Ring | None:
        """Return a ring, or None where the queue was rung within the window, or a transaction is open."""
        from .models import Job

        connection = connections[alias]
        if connection.in_atomic_block or not connection.get_autocommit():
            return None
        at = doorbell.due_at(alias, queue, conveyor_settings().notify_window_seconds)
        if at is None:
            return None
        return cls(hint=Hint(Job.objects.queues_notice([queue], channel=CHANNEL)), queue=queue, alias=alias, at=at)

    def was_heard(self) -> bool:
        """Say whether it was sent, and note it; one that failed is logged, and tried no more."""
        if not self.hint.sent:
            return False
        if self.hint.error is None:
            doorbell.note(self.alias, self.queue, self.at)
        else:
            _log_failure([self.queue], self.hint.error)
        return True


def notify_on_commit(queues: Iterable[str], *, alias: str) -> None:
    """Wake the workers of `queues` when the caller's transaction on `alias` has committed; now without one.

    Never inside it: a transaction that has notified takes a lock at its commit that is one for the server.
    """
    connection = connections[alias]
    if connection.in_atomic_block:
        for queue in _hooks.add(connection, queues):
            transaction.on_commit(partial(notify_now, [queue], alias=alias), using=alias, robust=True)
    elif connection.get_autocommit():
        notify_now(queues, alias=alias)
    # Else the caller commits by hand, and Django has no hook for that: the poll finds the job.


def notify_now(queues: Iterable[str], *, alias: str | None = None, on: Connection | None = None) -> None:
    """Wake the workers of `queues`, each at most once a window; outside of a transaction only.

    `on` is the connection to use, the caller's Django connection for `alias` when left out. A database error
    is logged and not raised: it is a hint that is lost, not the job.
    """
    from .models import Job

    settings = conveyor_settings()
    alias = alias or settings.database
    due = doorbell.first_of_window(alias, queues, settings.notify_window_seconds)
    if not due:
        return
    try:
        Job.objects.db_manager(alias).notify_queues(due, channel=CHANNEL, on=on)
    except (DjangoError, psycopg.Error) as error:
        doorbell.forget(alias, due)
        _log_failure(due, error)


def _log_failure(queues: Iterable[str], error: Exception) -> None:
    event(logger, logging.WARNING, "notify.failed", queues=",".join(queues), error=str(error).strip())


def notify_cancel_on_commit(job_id: int, *, alias: str) -> None:
    """Tell the worker that runs a job of its cancellation, as `notify_on_commit` tells of work.

    Where it is not told, its next heartbeat finds out.
    """
    connection = connections[alias]
    if connection.in_atomic_block:
        transaction.on_commit(partial(_notify_cancel, job_id, alias), using=alias, robust=True)
    elif connection.get_autocommit():
        _notify_cancel(job_id, alias)


def _notify_cancel(job_id: int, alias: str) -> None:
    from .models import Job

    try:
        Job.objects.db_manager(alias).notify_cancel(job_id, channel=CANCEL_CHANNEL)
    except (DjangoError, psycopg.Error) as error:
        event(logger, logging.WARNING, "notify.failed", job=job_id, error=str(error).strip())
