"""Statements about jobs: every verb of a job's life is a method here and a file of that name in `sql/`."""

from __future__ import annotations

import datetime as dt
import uuid
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..outcomes import Answer, Claimed, Ended, Succeed, Token
from ..pipeline import Hint, Request
from ..states import JobState
from .accepting import Accepted, NewJob, accepted_from, all_accepted_from, bulk_params, enqueue_params
from .base import Connection
from .duties import DutyStatements
from .exchange import (
    Claim,
    answers_from,
    claim_from,
    claim_params,
    end_params,
    ready_queues,
    succeed_params,
    token_params,
)
from .fenced import FencedStatements
from .limits import LimitStatements
from .overview import OverviewStatements

__all__ = ["Accepted", "Holder", "JobManager", "NewJob"]


class Holder(NamedTuple):
    """The job that holds a key, with what it was enqueued with: `args` and `kwargs` are JSON text."""

    id: int
    task: str
    args: str
    kwargs: str
    state: JobState
    workflow_id: int | None


class JobManager(DutyStatements, FencedStatements, LimitStatements, OverviewStatements):
    """The statements on jobs. Instants are the database's unless `now` is given; times are in seconds."""

    # -- enqueue ------------------------------------------------------------------------------------------

    def enqueue_job(
        self, job: NewJob, *, now: dt.datetime | None = None, on: Connection | None = None, hint: Hint | None = None
    ) -> Accepted | None:
        """Insert one job; None if its idempotency key is taken. The hint goes behind it, where it can."""
        return accepted_from(self.hot_rows("enqueue_job", enqueue_params(job, now), on, hint))

    def enqueue_jobs(
        self,
        jobs: Sequence[NewJob],
        *,
        ready_seqs: Sequence[int] | None = None,
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> list[Accepted | None]:
        """Insert many jobs in one statement; the answer has a None where a key was taken.

        `ready_seqs` are their places in line; without, they stand in the order given.
        """
        rows = self.bulk_rows("enqueue_jobs", bulk_params(jobs, ready_seqs, now), on)
        return all_accepted_from(rows, len(jobs))

    def enqueue_parts(self, parts: Iterable[tuple[Sequence[NewJob], Sequence[int]]]) -> Iterator[list[Accepted | None]]:
        """Do as `enqueue_jobs` for each part, which has its jobs and their places in line, in the open transaction.

        Where nobody watches the connection, a part is made while the server stores the one before it.
        """
        counts: deque[int] = deque()

        def requests() -> Iterator[Request]:
            for jobs, ready_seqs in parts:
                counts.append(len(jobs))
                yield "enqueue_jobs", bulk_params(jobs, ready_seqs, None)

        for rows in self.streamed_rows(requests()):
            yield all_accepted_from(rows, counts.popleft())

    def find_jobs_by_keys(
        self, keys: Sequence[tuple[str, str]], *, on: Connection | None = None
    ) -> dict[tuple[str, str], Holder]:
        """Return the holders of the keys, each (queue, idempotency key), that have one."""
        params = {"queues": [queue for queue, _ in keys], "keys": [key for _, key in keys]}
        return {
            (queue, key): Holder(job_id, task, args, kwargs, JobState(state), workflow_id)
            for queue, key, job_id, task, args, kwargs, state, workflow_id in self.rows("find_jobs_by_keys", params, on)
        }

    def draw_ready_seqs(self, count: int, *, on: Connection | None = None) -> list[int]:
        """Return so many new places in line, in order."""
        [(drawn,)] = self.rows("draw_ready_seqs", {"count": count}, on)
        return drawn or []

    def replace_job(
        self, job_id: int, *, idempotency_key: str, now: dt.datetime | None = None, on: Connection | None = None
    ) -> bool:
        """Cancel a job that waits and take its key from it; say whether it still waited and had the key."""
        params = {"id": job_id, "idempotency_key": idempotency_key, "now": now}
        return bool(self.rows("replace_job", params, on))

    # -- the worker's turn ---------------------------------------------------------------------------------

    def claim_jobs(
        self,
        *,
        owner: uuid.UUID,
        queues: Mapping[str, float],
        limit: int,
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> list[Claimed]:
        """Lease up to `limit` ready jobs; `queues` maps each name to its lease, looked at in that order."""
        return self.claim(owner=owner, queues=queues, limit=limit, now=now, on=on).jobs

    def claim(
        self,
        *,
        owner: uuid.UUID,
        queues: Mapping[str, float],
        limit: int,
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> Claim:
        """Do as `claim_jobs`, and say also what caps and pauses kept from being claimed."""
        return claim_from(self.rows("claim_jobs", claim_params(owner, queues, limit, now), on))

    def claim_plain_jobs(
        self,
        *,
        owner: uuid.UUID,
        queues: Mapping[str, float],
        limit: int,
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> Claim:
        """Do as `claim` for jobs on which no cap, key or paused task has a say; `capped` says whether others wait."""
        params = claim_params(owner, queues, limit, now)
        del params["park"]
        return claim_from(self.rows("claim_plain_jobs", params, on))

    def succeed_jobs(
        self,
        outcomes: Sequence[Succeed],
        *,
        owner: uuid.UUID,
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> dict[Token, Answer]:
        """End runs as succeeded, fenced; the answer names every token given."""
        return answers_from(self.rows("succeed_jobs", succeed_params(outcomes, owner, now), on))

    def succeed_lastly(self, outcomes: Sequence[Succeed], *, owner: uuid.UUID) -> dict[Token, Answer]:
        """Do as `succeed_jobs` at the end of the open transaction: what comes after it is the commit."""
        return answers_from(self.last_rows("succeed_jobs", succeed_params(outcomes, owner)))

    def end_attempts(
        self,
        outcomes: Sequence[Ended],
        *,
        owner: uuid.UUID,
        keep: int,
        max_releases: int,
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> tuple[dict[Token, Answer], set[str]]:
        """End runs without success, fenced; also returns the queues that have something ready by it.

        `keep` bounds the Attempt rows of a job, `max_releases` how often it may be given back.
        """
        params = end_params(outcomes, owner, keep, max_releases, now)
        rows = self.rows("end_attempts", params, on)
        return answers_from(rows), ready_queues(rows)

    def renew_leases(
        self,
        leases: Mapping[Token, float],
        *,
        owner: uuid.UUID,
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> dict[Token, tuple[Answer, bool]]:
        """Extend each lease named by its token by that many seconds.

        Answers for each token: won, busy or lost, and whether the job's cancellation was requested.
        """
        params = {
            "ids": [token[0] for token in leases],
            "versions": [token[1] for token in leases],
            "leases": [float(seconds) for seconds in leases.values()],
            "owner": owner,
            "now": now,
        }
        rows = self.rows("renew_leases", params, on)
        return {(job_id, version): (Answer(answer), bool(cancel)) for job_id, version, answer, cancel in rows}

    def release_unknown(
        self,
        *,
        owner: uuid.UUID,
        known: Iterable[Token],
        max_releases: int,
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> list[tuple[int, str, str]]:
        """Give back what the owner holds but does not know; returns (id, queue, state) of each."""
        params = {"owner": owner, "max_releases": max_releases, "now": now} | token_params(known)
        return self.rows("release_unknown", params, on)

    # -- by hand -------------------------------------------------------------------------------------------

    def requeue_jobs(
        self, ids: Sequence[int], *, now: dt.datetime | None = None, on: Connection | None = None
    ) -> dict[int, str]:
        """Make failed and cancelled jobs ready again; returns {id: queue} of those that were."""
        return dict(self.rows("requeue_jobs", {"ids": list(ids), "now": now}, on))

    def cancel_job(
        self, job_id: int, *, now: dt.datetime | None = None, on: Connection | None = None
    ) -> JobState | None:
        """Cancel one job: `cancelled` at once, `running` if the request was noted, None if it had ended."""
        rows = self.rows("cancel_job", {"id": job_id, "now": now}, on)
        return JobState(rows[0][0]) if rows else None

    def cancel_jobs(
        self, ids: Sequence[int], *, now: dt.datetime | None = None, on: Connection | None = None
    ) -> dict[int, JobState]:
        """Cancel many jobs; returns those that it reached, each `cancelled`, or `running` if the request was noted."""
        return {
            job_id: JobState(state) for job_id, state in self.rows("cancel_jobs", {"ids": list(ids), "now": now}, on)
        }

    def prune_chosen(self, finished_ats: Mapping[int, str]) -> int:
        """Delete these ended jobs, named by id, if they ended when it says (as the server writes it); return how many.

        One that a job waits for, or whose workflow is not finished, stays. What comes after it in the open transaction
        is the commit.
        """
        params = {"ids": list(finished_ats), "finished_ats": list(finished_ats.values())}
        return len(self.last_rows("prune_chosen", params))

    def run_job_now(self, job_id: int, *, now: dt.datetime | None = None, on: Connection | None = None) -> str | None:
        """Make one scheduled job ready now; returns its queue, None if it was not scheduled."""
        rows = self.rows("run_job_now", {"id": job_id, "now": now}, on)
        return rows[0][0] if rows else None

    # -- wake-up -------------------------------------------------------------------------------------------

    def list_queues(self, *, on: Connection | None = None) -> list[str]:
        """Return the names of the queues that have ready jobs."""
        return [row[0] for row in self.rows("list_queues", {}, on)]

    def notify_queues(self, queues: Iterable[str], *, channel: str, on: Connection | None = None) -> None:
        """Tell the listeners of `channel` that these queues have work; outside of a transaction only."""
        self.hot_rows(*self.queues_notice(queues, channel=channel), on)

    @staticmethod
    def queues_notice(queues: Iterable[str], *, channel: str) -> tuple[str, dict[str, Any]]:
        """Return what `notify_queues` runs, to go behind another statement."""
        return "notify_queues", {"channel": channel, "queues": list(queues)}

    def notify_cancel(self, job_id: int, *, channel: str, on: Connection | None = None) -> None:
        """Tell the listeners of `channel` that a running job was cancelled; outside of a transaction only."""
        self.rows("notify_cancel", {"channel": channel, "id": job_id}, on)
