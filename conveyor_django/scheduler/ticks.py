"""Ticks: cron entries enqueue their jobs when the wall clock says so, each tick once (rule 14)."""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Sequence
from typing import Any, Final

import psycopg

from ..cronrules import Due, run_at, tick_key
from ..crontab import CronEntry, declared_entries
from ..db import Connection, is_transient, is_usable
from ..errors import UnknownTask
from ..log import event, get_logger
from ..managers.cron import CronManager, Listed, Ticked
from ..models import Cron
from ..notify import notify_now
from .duty import Duty, Look
from .reading import Reading

logger = get_logger("scheduler")

# Seconds until an entry that is broken is read again, unless it is changed.
RETRY: Final = 60.0


class Ticks(Duty):
    """Write the code's entries down, and enqueue what is due of all."""

    name = "ticks"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._written: dict[str, CronEntry] = {}
        self._readings: dict[str, Reading] = {}

    def look_once(self, connection: Connection) -> Look:
        """Tick every entry that is due; the next look is due when the next tick is."""
        own = self._own()
        self._declare(own, connection)
        listed = self._crons().list_crons(now=self.now(), on=connection)
        began = time.monotonic()
        # What somebody else's code declares is left to them: this process may be an older release.
        mine = [one for one in listed if one.row.enabled and (not one.row.declared or one.row.name in own)]
        self._readings = {one.row.name: self._read(one) for one in mine}
        changed, nexts = 0, []
        for one in mine:
            jobs, upcoming = self._tick(one, connection)
            changed += jobs
            if upcoming is not None:
                nexts.append((upcoming - one.now).total_seconds())
        return Look(changed=changed, wait=max(0.0, min(nexts) - (time.monotonic() - began)) if nexts else None)

    def _own(self) -> dict[str, CronEntry]:
        """Return the code's entries whose queue lives here."""
        return {
            name: entry
            for name, entry in declared_entries().items()
            if self.settings.database_of(entry.queue) == self.alias
        }

    def _declare(self, own: dict[str, CronEntry], connection: Connection) -> None:
        """Write down the entries that are not yet; one whose row is busy comes with the next look."""
        new = [entry for name, entry in own.items() if self._written.get(name) is not entry]
        if not new:
            return
        answers = self._crons().declare_crons([entry.row() for entry in new], now=self.now(), on=connection)
        for name, answer in answers.items():
            if answer != "busy":
                self._written[name] = own[name]
            if answer in {"inserted", "changed"}:
                event(logger, logging.INFO, "cron.declared", entry=name, row=answer)

    def _read(self, one: Listed) -> Reading:
        """Return what the entry's row means, read anew only if it was changed, or broken for a while."""
        known = self._readings.get(one.row.name)
        if known is not None and known.row == one.row and not known.is_stale(time.monotonic()):
            return known
        reading = Reading(one.row, alias=self.alias, settings=self.settings)
        if reading.error is not None:
            # Once for each change, not at each look.
            self._broken(reading, reading.error, log=known is None or known.row != one.row or known.error is None)
        return reading

    def _broken(self, reading: Reading, error: Exception, *, log: bool = True) -> None:
        reading.break_off(error, until=time.monotonic() + RETRY)
        if log:
            event(
                logger, logging.ERROR, "cron.broken",
                entry=reading.row.name, expression=reading.row.expression, zone=reading.row.zone,
                task=reading.row.task, error=_told(error),
            )  # fmt: skip

    def _tick(self, one: Listed, connection: Connection) -> tuple[int, dt.datetime | None]:
        """Enqueue what is due of an entry; return how many jobs that made, and when it is due next."""
        reading = self._readings[one.row.name]
        if reading.error is not None:
            return 0, None
        try:
            return self._tick_readable(one, reading, connection)
        except psycopg.Error as error:
            # What the database refuses of one entry does not stop the others.
            if is_transient(error) or not is_usable(connection):
                raise
            self._broken(reading, error)
            return 0, None

    def _tick_readable(self, one: Listed, reading: Reading, connection: Connection) -> tuple[int, dt.datetime | None]:
        if one.last_tick is None:
            # Seen for the first time: it begins now, and has missed nothing.
            self._enqueue(one, reading, (), one.now, connection)
            return 0, reading.next_after(one.now)
        due = reading.due(after=one.last_tick, now=one.now)
        if due is None:
            return 0, reading.next_after(one.last_tick)
        ticked = self._enqueue(one, reading, due.ticks, due.newest, connection)
        if ticked is not None:
            self._report(one, reading, due, ticked, connection)
        return len(ticked.ids) if ticked else 0, reading.next_after(due.newest)

    def _enqueue(
        self, one: Listed, reading: Reading, ticks: Sequence[dt.datetime], newest: dt.datetime, connection: Connection
    ) -> Ticked | None:
        name = one.row.name
        return self._crons().tick_cron(
            name, reading.job, seen=one.last_tick, newest=newest, now=self.now(), on=connection,
            ticks=[(tick_key(name, tick), run_at(name, tick, reading.policy.jitter)) for tick in ticks],
        )  # fmt: skip

    def _report(self, one: Listed, reading: Reading, due: Due, ticked: Ticked, connection: Connection) -> None:
        """Wake the queue, and say what became of the ticks."""
        if ticked.ready:
            notify_now([reading.job.queue], alias=self.alias, on=connection)
        name = one.row.name
        if due.dropped:
            event(
                logger, logging.WARNING, "cron.missed",
                entry=name, policy=one.row.missed, dropped=due.dropped, since=one.last_tick, until=due.newest,
            )  # fmt: skip
        if ticked.overlaps and due.ticks:
            event(logger, logging.INFO, "cron.overlapped", entry=name, tick=due.newest)
        elif ticked.ids:
            event(logger, logging.DEBUG, "cron.ticked", entry=name, tick=due.newest, jobs=len(ticked.ids))

    def _crons(self) -> CronManager:
        return Cron.objects.db_manager(self.alias)


def _told(error: Exception) -> str:
    """Return what is wrong with an entry; of a task that is unknown, what holds for an entry, which has no job."""
    if isinstance(error, UnknownTask):
        return f"there is no such task: {error.reason}. Correct the entry's task, or deploy the code that defines it."
    return str(error).strip() or repr(error)
