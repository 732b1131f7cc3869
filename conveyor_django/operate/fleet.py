"""Who is there to work: the worker processes and schedulers of one database, by their rows and by their sessions.

A worker says itself that it lives, in its row. Its sessions, and those of schedulers, are named after them in
pg_stat_activity, as long as no pooler stands between: what is known of schedulers, and of listeners, is known so.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ..conf import ConveyorSettings, conveyor_settings
from ..db import NAME_AT_CONNECT
from ..managers.looking import LookManager, Session
from ..managers.workers import application_name
from ..models import Worker
from ..scheduler.loop import SCHEDULER_NAME
from ..worker.wakeup import DEAF_SECONDS, PROBE_SECONDS, ROLE

if TYPE_CHECKING:
    import uuid

# A listener says something to itself every PROBE_SECONDS; this long without a word, it does not run.
LISTENER_SILENT: Final = 2 * (PROBE_SECONDS + DEAF_SECONDS)
# A worker registers before it listens, and a listener comes back after an outage with growing delays.
LISTENER_COMES: Final = 15.0


@dataclass(frozen=True)
class Fleet:
    """The workers and schedulers of the database `alias`, as seen at `now`, by the database's clock."""

    alias: str
    now: dt.datetime
    workers: tuple[Worker, ...]
    sessions: tuple[Session, ...]
    settings: ConveyorSettings

    # -- workers --------------------------------------------------------------------------------------------

    @cached_property
    def live(self) -> tuple[Worker, ...]:
        """The workers that were seen within their lease."""
        return tuple(worker for worker in self.workers if not self.is_silent(worker))

    @cached_property
    def claiming(self) -> tuple[Worker, ...]:
        """The live workers that neither drain nor were asked to."""
        return tuple(worker for worker in self.live if not worker.draining and worker.drain_requested_at is None)

    def is_silent(self, worker: Worker) -> bool:
        """Say whether it was not seen for longer than its lease: a scheduler takes it for dead then."""
        return self.silence(worker) > worker.lease_seconds

    def silence(self, worker: Worker) -> float:
        """Return the seconds since it was seen."""
        return (self.now - worker.last_seen).total_seconds()

    def worker(self, incarnation: uuid.UUID | None) -> Worker | None:
        """Return the worker of that incarnation, None where its row is gone."""
        return next((worker for worker in self.workers if worker.incarnation == incarnation), None)

    # -- their listeners ------------------------------------------------------------------------------------

    def deafness(self, worker: Worker) -> str | None:
        """Say why a live worker hears of nothing, as the end of a sentence, so that it finds jobs by its poll alone."""
        own = application_name(worker.incarnation)
        sessions = {session.name: session for session in self.sessions if session.name.startswith(own)}
        if not sessions:
            return None if worker.holds_lock else "a pooler stands between it and the database"
        listener = sessions.get(application_name(worker.incarnation, ROLE))
        if listener is None:
            is_new = (self.now - worker.started_at).total_seconds() < LISTENER_COMES
            return None if is_new else "its listening session is gone"
        if listener.silent is not None and listener.silent > LISTENER_SILENT:
            return f"its listening session (backend {listener.pid}) has not said a word for {listener.silent:.0f} s"
        return None

    # -- schedulers -----------------------------------------------------------------------------------------

    @cached_property
    def schedulers(self) -> tuple[Session, ...]:
        """The sessions of schedulers that work, as far as can be seen."""
        return tuple(session for session in self._scheduler_sessions if not self._stands_still(session))

    @cached_property
    def frozen_schedulers(self) -> tuple[Session, ...]:
        """The sessions of schedulers that have not asked the database anything for much longer than they should."""
        return tuple(session for session in self._scheduler_sessions if self._stands_still(session))

    @property
    def has_scheduler(self) -> bool | None:
        """Whether a scheduler works here; None where nobody can tell, since a pooler hides the sessions' names."""
        if self.schedulers:
            return True
        return None if self.is_pooled else False

    @property
    def is_pooled(self) -> bool:
        """Whether some session came through a pooler: it has the name that all have at connect."""
        # PgBouncer may add the client's address: application_name_add_host.
        return any(
            session.name == NAME_AT_CONNECT or session.name.startswith(f"{NAME_AT_CONNECT} - ")
            for session in self.sessions
        )

    @property
    def scheduler_patience(self) -> float:
        """The seconds after which what a scheduler should have done is late."""
        return 30.0 + 3 * self.settings.scheduler_seconds

    @property
    def _scheduler_sessions(self) -> Iterable[Session]:
        return (session for session in self.sessions if session.name.startswith(f"{SCHEDULER_NAME} "))

    def _stands_still(self, session: Session) -> bool:
        return session.silent is not None and session.silent > 2 * self.scheduler_patience


def read_fleet(alias: str) -> Fleet:
    """Look who is there. Database errors pass through."""
    look: LookManager = LookManager().db_manager(alias)
    return Fleet(
        alias=alias,
        now=look.server_clock(),
        workers=tuple(Worker.objects.using(alias).order_by("started_at", "incarnation")),
        sessions=tuple(look.list_sessions()),
        settings=conveyor_settings(),
    )


def serves(worker: Worker, queue: str) -> bool:
    """Say whether a worker takes jobs of a queue."""
    return not worker.queues or queue in worker.queues


def named(worker: Worker) -> str:
    """Return what a worker process is called to a person: its host and pid."""
    return f"{worker.host}:{worker.pid}"
