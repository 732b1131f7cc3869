"""Statements that look after jobs without running them: due ones, lost ones, old ones."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ..outcomes import Token
from ..states import JobState
from .base import Connection, StatementManager
from .exchange import token_params

# First key of the two-key advisory locks ("CONV"); the second says which duty a scheduler's look is for.
LOCK_CLASS: Final = 0x434F4E56
PROMOTE_LOCK, RESCUE_LOCK, PRUNE_LOCK = 1, 2, 3

LEASE_LOST_PATH: Final = "conveyor_django.errors.LeaseLost"
# Why a dead worker's jobs are given back free: by default, and where a run that would not end was to blame.
NOT_STARTED: Final = "claimed, but not started when its worker died"
NEIGHBOUR: Final = "its worker was ended for a neighbour's run that would not end"


@dataclass(frozen=True, slots=True)
class Rescued:
    """A job taken back from a worker; `lost` says whether the run counts as lost."""

    id: int
    queue: str
    state: JobState
    version: int
    lost: bool
    owner: uuid.UUID | None


class DutyStatements(StatementManager):
    """The statements of a scheduler's duties, and of whoever takes a dead worker over."""

    def promote_jobs(
        self, *, limit: int, now: dt.datetime | None = None, on: Connection | None = None
    ) -> dict[str, int]:
        """Make due jobs ready; returns how many per queue."""
        params = {"limit": limit, "now": now, "lock_class": LOCK_CLASS, "lock_id": PROMOTE_LOCK}
        return dict(self.rows("promote_jobs", params, on))

    def next_due(self, *, now: dt.datetime | None = None, on: Connection | None = None) -> float | None:
        """Return the seconds until the next scheduled job is due, or None if there is none."""
        rows = self.rows("next_due", {"now": now}, on)
        return rows[0][0] if rows else None

    def rescue_jobs(
        self, *, limit: int, max_lost: int, now: dt.datetime | None = None, on: Connection | None = None
    ) -> list[Rescued]:
        """Take back jobs whose lease has lapsed."""
        params = {
            "limit": limit, "max_lost": max_lost, "now": now, "error_class": LEASE_LOST_PATH,
            "lock_class": LOCK_CLASS, "lock_id": RESCUE_LOCK,
        }  # fmt: skip
        return [
            Rescued(job_id, queue, JobState(state), version, True, owner)
            for job_id, queue, state, version, owner in self.rows("rescue_jobs", params, on)
        ]

    def rescue_owner(
        self,
        *,
        owner: uuid.UUID,
        max_lost: int,
        max_releases: int,
        reason: str,
        free_reason: str = NOT_STARTED,
        started: Iterable[Token] | None = None,
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> list[Rescued]:
        """Take back all that a dead owner holds.

        `started` names the runs that are known to have started; the rest is then given back free. None means
        that nobody knows: every run counts as lost. `reason` is kept on the lost attempts, `free_reason` on the others.
        """
        params = {
            "owner": owner, "max_lost": max_lost, "max_releases": max_releases, "reason": reason,
            "free_reason": free_reason, "knows_started": started is not None, "error_class": LEASE_LOST_PATH,
            "now": now,
        } | token_params(started or ())  # fmt: skip
        return [
            Rescued(job_id, queue, JobState(state), version, lost, owner)
            for job_id, queue, state, version, lost in self.rows("rescue_owner", params, on)
        ]

    def count_held(self, *, owner: uuid.UUID, on: Connection | None = None) -> int:
        """Return how many jobs the owner holds."""
        return int(self.rows("count_held", {"owner": owner}, on)[0][0])

    def prune_jobs(
        self,
        *,
        limit: int,
        retention: float | None,
        failed_retention: float | None,
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> int:
        """Delete up to `limit` ended jobs past their retention; None keeps them. Returns how many went."""
        params = {
            "limit": limit, "retention": retention, "failed_retention": failed_retention, "now": now,
            "lock_class": LOCK_CLASS, "lock_id": PRUNE_LOCK,
        }  # fmt: skip
        return len(self.rows("prune_jobs", params, on))
