"""What a cron entry's row means to this process: read once for each change, since rows are listed at every look."""

from __future__ import annotations

import datetime as dt
import json

from ..conf import ConveyorSettings
from ..cronrules import CronPolicy, Due, due_ticks, policy_from
from ..cronspec import CronSpec
from ..crontab import job_of
from ..errors import InvalidCron
from ..managers.cron import CronRow
from ..managers.jobs import NewJob


class Reading:
    """A row's schedule, policy and job; or the error that kept it from being read, in `error`."""

    spec: CronSpec
    policy: CronPolicy
    job: NewJob

    def __init__(self, row: CronRow, *, alias: str, settings: ConveyorSettings) -> None:
        self.row = row
        self.error: Exception | None = None
        self._retry_at: float | None = None
        self._next: tuple[dt.datetime, dt.datetime | None] | None = None
        try:
            self._read(alias, settings)
        except Exception as error:  # noqa: BLE001 - the row names anybody's code, and nothing in it need be right
            self.error = error

    def break_off(self, error: Exception, *, until: float) -> None:
        """Give the entry up until that instant of the monotonic clock."""
        self.error = error
        self._retry_at = until

    def is_stale(self, now: float) -> bool:
        """Say whether it is broken and may be tried again."""
        return self._retry_at is not None and now >= self._retry_at

    def next_after(self, last_tick: dt.datetime) -> dt.datetime | None:
        """Return the first tick after that instant."""
        if self._next is None or self._next[0] != last_tick:
            self._next = (last_tick, self.spec.next_after(last_tick))
        return self._next[1]

    def due(self, *, after: dt.datetime, now: dt.datetime) -> Due | None:
        """Say what to do about the ticks in (after, now]; None where there are none."""
        upcoming = self.next_after(after)
        if upcoming is None or upcoming > now:
            return None
        return due_ticks(self.spec, self.policy, after=after, now=now)

    def _read(self, alias: str, settings: ConveyorSettings) -> None:
        row = self.row
        self.spec = CronSpec(row.expression, row.zone)
        self.policy = policy_from(
            missed=row.missed, max_missed=row.max_missed, overlap=row.overlap, jitter=row.jitter_seconds
        )
        args, kwargs = json.loads(row.args), json.loads(row.kwargs)
        if not isinstance(args, list) or not isinstance(kwargs, dict):
            raise InvalidCron("args", f"args must be a list and kwargs an object, not {row.args} and {row.kwargs}.")
        self.job = job_of(row.task, args, kwargs, row.queue or None, alias=alias, settings=settings)
