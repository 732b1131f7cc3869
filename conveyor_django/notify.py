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

    queue: str
    alias: str
    window: float
    # Whether each statement commits by itself.
    is_alone: bool
    # What is to go behind the enqueue, and when it set out; None where it is not due, or a transaction is open.
    hint: Hint | None
    at: float | None

    @classmethod
    def of(cls, queue: str, *, alias: str, window: float, for_later: bool) -> Ring:
        """Return the ring of an enqueue that begins now; one for later may wake nobody, so nothing goes behind it."""
        from .models import Job

        connection = connections[alias]
        is_alone = not connection.in_atomic_block and connection.get_autocommit()
        at = doorbell.due_at(alias, queue, window) if is_alone and not for_later else None
        hint = None if at is None else Hint(Job.objects.queues_notice([queue], channel=CHANNEL))
        return cls(queue=queue, alias=alias, window=window, is_alone=is_alone, hint=hint, at=at)

    def settle(self) -> None:
        """Note that it was heard, or see to it that it will be; one that failed is logged, and tried no more."""
        if self.hint is not None and self.hint.sent:
            if self.hint.error is None and self.at is not None:
                doorbell.note(self.alias, self.queue, self.at)
            elif self.hint.error is not None:
                _log_failure([self.queue], self.hint.error)
        # The everyday case of many in a row, at less than it costs to find that out below.
        elif not (self.is_alone and doorbell.due_at(self.alias, self.queue, self.window) is None):
            notify_on_commit([self.queue], alias=self.alias)


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
