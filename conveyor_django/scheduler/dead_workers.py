"""Dead workers: processes that ended without a word are taken over without waiting for their leases."""

from __future__ import annotations

import time
import uuid

from ..conf import ConveyorSettings
from ..db import Connection
from ..managers.recovery import Takeover, queues_to_wake, take_over
from ..models import Worker
from ..notify import notify_now
from .duty import Duty, Look, Now, database_clock


class DeadWorkers(Duty):
    """Take over workers that are silent for longer than their lease, or whose session lock stays gone."""

    name = "dead workers"

    def __init__(
        self, *, alias: str, settings: ConveyorSettings, now: Now = database_clock, after_outage: bool = False
    ) -> None:
        super().__init__(alias=alias, settings=settings, now=now, after_outage=after_outage)
        # A crash of one backend ends every session, but leaves the server's start time as it was.
        self._trusts_at = time.monotonic() + (settings.lease_seconds if after_outage else 0.0)
        # Two looks must be apart for as long as a living worker needs to reconnect and lock again.
        self.at_least = settings.scheduler_seconds / 2
        self._missed: set[uuid.UUID] = set()

    def look_once(self, connection: Connection) -> Look:
        """Take over whom this look, or this and the one before, found dead.

        One whose sessions were still ending is taken over again in the next look.
        """
        found = Worker.objects.db_manager(self.alias).find_dead_workers(now=self.now(), on=connection)
        trusted = time.monotonic() >= self._trusts_at
        reasons = {
            worker: "its worker was silent for longer than its lease" if silent else "its worker died"
            for worker, silent in found.items()
            if silent or (worker in self._missed and trusted)
        }
        self._missed = set(found)
        passes = [self._take_over(worker, reason, connection) for worker, reason in reasons.items()]
        unfinished = not all(takeover.done for takeover in passes)
        return Look(changed=sum(len(takeover.rescued) for takeover in passes), wait=0.0 if unfinished else None)

    def _take_over(self, worker: uuid.UUID, reason: str, connection: Connection) -> Takeover:
        takeover = take_over(
            alias=self.alias, incarnation=worker, settings=self.settings, reason=reason, started=None,
            on=connection,
        )  # fmt: skip
        if queues := queues_to_wake(takeover.rescued):
            notify_now(queues, alias=self.alias, on=connection)
        return takeover
