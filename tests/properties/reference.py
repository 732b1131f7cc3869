"""What the statements have to do to jobs, in plain Python: written from docs/design.md, not from the SQL.

One job table, one transition at a time, no locks: everything that these properties are not about. Where the design
leaves a choice (which of two jobs that became ready at once is first), the choice that the database made is taken over.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from .entities import ENDED, KEPT_ATTEMPTS, MAX_LOST, MAX_RELEASES, Edge, Job, Queue, Token
from .rows import Snapshot, job_row


@dataclass
class Reference:
    """All jobs, and the rows that belong to them."""

    jobs: dict[int, Job] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    # (job, step): (version, owner).
    ledger: dict[tuple[int, str], tuple[int, UUID]] = field(default_factory=dict)
    # (job, version): (verb, owner, number).
    attempts: dict[Token, tuple[str, UUID, int]] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    paused_tasks: set[str] = field(default_factory=set)

    # -- looking ----------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return what the tables have to say."""
        return Snapshot(
            jobs={job.id: job_row(job) for job in self.jobs.values()},
            ledger=dict(self.ledger),
            attempts=dict(self.attempts),
            edges={(edge.child, edge.parent): edge.resolved for edge in self.edges},
        )

    def holds(self, token: Token, owner: UUID) -> bool:
        """Say whether the fence lets a write of this run through."""
        job = self.jobs.get(token[0])
        return job is not None and job.state == "running" and (job.version, job.owner) == (token[1], owner)

    def running(self, queue: str, key: str | None = None) -> int:
        """Return how many jobs of a queue, or of a key in it, run."""
        return sum(
            job.state == "running" and job.queue == queue and (key is None or job.concurrency_key == key)
            for job in self.jobs.values()
        )  # fmt: skip

    def line(self, queue: str) -> list[Job]:
        """Return a queue's ready jobs, in their order."""
        waiting = [job for job in self.jobs.values() if (job.queue, job.state) == (queue, "ready")]
        return sorted(waiting, key=lambda job: (-job.priority, job.place))

    def may_run(self, job: Job) -> bool:
        """Say whether a ready job may be claimed now: no pause, no full cap."""
        queue = self.queues.get(job.queue, Queue())
        return not (
            queue.paused
            or job.task in self.paused_tasks
            or (queue.exact_cap is not None and self.running(job.queue) >= queue.exact_cap)
            or (
                job.concurrency_key is not None
                and self.running(job.queue, job.concurrency_key) >= (queue.key_cap or 1)
            )
        )  # fmt: skip

    # -- enqueue ----------------------------------------------------------------------------------------------

    def has_key(self, queue: str, key: str | None) -> bool:
        """Say whether a key is taken."""
        return key is not None and any((job.queue, job.key) == (queue, key) for job in self.jobs.values())

    def enqueue(self, job: Job, now: dt.datetime) -> None:
        """Accept a job; `state` and `place` are said here."""
        self.jobs[job.id] = job
        self._wait(job, now)

    def promote(self, now: dt.datetime) -> list[Job]:
        """Make due jobs ready; return them, those that were due first ahead."""
        due = [job for job in self.jobs.values() if job.state == "scheduled" and job.run_at <= now]
        for job in due:
            self._to_line(job)
        return sorted(due, key=lambda job: job.run_at)

    # -- a run ------------------------------------------------------------------------------------------------

    def claim(self, job: Job, owner: UUID, lease: float, now: dt.datetime) -> None:
        """Lease a ready job."""
        assert job.state == "ready", f"job {job.id} was claimed, and is {job.state}"
        assert self.may_run(job), f"job {job.id} was claimed over a pause or a full cap"
        job.state, job.owner, job.expires = "running", owner, now + dt.timedelta(seconds=lease)
        job.attempt += 1
        job.version += 1

    def renew(self, token: Token, owner: UUID, lease: float, now: dt.datetime) -> tuple[str, bool]:
        """Renew a lease; return the answer, and whether the job is to be cancelled."""
        if not self.holds(token, owner):
            return "lost", False
        job = self.jobs[token[0]]
        job.expires = now + dt.timedelta(seconds=lease)
        return "won", job.cancelling

    def succeed(self, token: Token, owner: UUID, now: dt.datetime) -> str:
        """End a run as succeeded; return the answer."""
        if self.holds(token, owner):
            self.ledger[token[0], ""] = (token[1], owner)
            self._end(self.jobs[token[0]], "succeeded", now)
            return "won"
        return "won before" if self.ledger.get((token[0], "")) == (token[1], owner) else "lost"

    def record_step(self, token: Token, owner: UUID, step: str) -> str:
        """Record a durable step; return the answer."""
        mine = self.holds(token, owner)
        known = self.ledger.get((token[0], step))
        if mine and known is None:
            self.ledger[token[0], step] = (token[1], owner)
            return "won"
        return "won before" if known is not None and (mine or known == (token[1], owner)) else "lost"

    def end(self, token: Token, owner: UUID, verb: str, delay: float, now: dt.datetime) -> str:
        """End a run without success; return the answer."""
        if not self.holds(token, owner):
            earlier = self.attempts.get(token)
            mine = (earlier is not None and earlier[:2] == (verb, owner)) or (
                self.ledger.get((token[0], "")) == (token[1], owner)
            )
            return "won before" if mine else "lost"
        job = self.jobs[token[0]]
        self._note(job, verb)
        self._keep_newest(job)
        if verb in {"snooze", "release"}:
            job.attempt -= 1
        spent = verb == "release" and job.releases >= MAX_RELEASES
        job.releases += verb == "release"
        if job.cancelling or verb == "cancel":
            self._end(job, "cancelled", now)
        elif verb == "fail" or spent:
            self._end(job, "failed", now)
        else:
            self._leave(job)
            job.run_at = now + dt.timedelta(seconds=delay)
            if delay > 0:
                job.state = "scheduled"
            else:
                self._to_line(job)
        return "won"

    # -- takeovers --------------------------------------------------------------------------------------------

    def rescue(self, now: dt.datetime) -> set[int]:
        """Take back what was not renewed in time; return the jobs."""
        late = [job for job in self._runs() if job.expires is not None and job.expires < now]
        for job in late:
            self._lose(job, now)
        return {job.id for job in late}

    def rescue_owner(self, owner: UUID, started: Collection[Token] | None, now: dt.datetime) -> dict[int, bool]:
        """Take back all that a dead owner holds; return the jobs, with whether each run counts as lost."""
        fates = {
            job.id: started is None or (job.id, job.version) in started for job in self._runs() if job.owner == owner
        }
        for job_id, lost in fates.items():
            if lost:
                self._lose(self.jobs[job_id], now)
            else:
                self._give_back(self.jobs[job_id], now)
        return fates

    def release_unknown(self, owner: UUID, known: Collection[Token], now: dt.datetime) -> set[int]:
        """Give back what the owner holds and does not know; return the jobs."""
        unknown = [job for job in self._runs() if job.owner == owner and (job.id, job.version) not in known]
        for job in unknown:
            self._give_back(job, now)
        return {job.id for job in unknown}

    # -- by hand ----------------------------------------------------------------------------------------------

    def cancel(self, job_id: int, now: dt.datetime) -> str | None:
        """Cancel what waits, ask what runs; return the state, None for what has ended."""
        job = self.jobs.get(job_id)
        if job is None or job.state in ENDED:
            return None
        job.cancelling = True
        if job.state != "running":
            self._end(job, "cancelled", now)
        return job.state

    def requeue(self, ids: Iterable[int], now: dt.datetime) -> set[int]:
        """Make failed and cancelled jobs ready; return them."""
        again = {job_id for job_id in ids if job_id in self.jobs and self.jobs[job_id].state in {"failed", "cancelled"}}
        for job_id in again:
            job = self.jobs[job_id]
            job.attempt = job.lost = job.releases = 0
            job.cancelling, job.run_at = False, now
            self._to_line(job)
        return again

    def workflow(self, workflow: int) -> list[Job]:
        """Return a workflow's jobs."""
        return [job for job in self.jobs.values() if job.workflow == workflow]

    def cancel_workflow(self, workflow: int, now: dt.datetime) -> dict[int, str]:
        """Cancel what waits of a workflow, all at once, and ask what runs; return the states of both."""
        open_jobs = [job for job in self.workflow(workflow) if job.state not in ENDED]
        waiting = [job for job in open_jobs if job.state != "running"]
        for job in open_jobs:
            job.cancelling = True
        for job in waiting:
            job.state = "cancelled"
        for job in waiting:
            self._resolve_edges(job, now)
        return {job.id: job.state for job in open_jobs}

    def retry_workflow(self, workflow: int, now: dt.datetime) -> dict[int, str]:
        """Run what failed and was cancelled again, each behind what it needs of that; return the states."""
        again = {job.id: job for job in self.workflow(workflow) if job.state in {"failed", "cancelled"}}
        for edge in self.edges:
            if edge.child in again and edge.parent in again:
                edge.resolved = False
        for job in again.values():
            job.attempt = job.lost = job.releases = 0
            job.cancelling, job.run_at = False, now
            job.pending = sum(edge.child == job.id and not edge.resolved for edge in self.edges)
            self._wait(job, now)
        return {job.id: job.state for job in again.values()}

    # -- the parts that they share ----------------------------------------------------------------------------

    def _runs(self) -> Iterator[Job]:
        return (job for job in self.jobs.values() if job.state == "running")

    def _wait(self, job: Job, now: dt.datetime) -> None:
        if job.pending:
            job.state = "blocked"
        elif job.run_at > now:
            job.state = "scheduled"
        else:
            self._to_line(job)

    def _to_line(self, job: Job) -> None:
        job.state, job.place = "ready", None

    def _leave(self, job: Job) -> None:
        job.owner = job.expires = None

    def _note(self, job: Job, verb: str) -> None:
        assert job.owner is not None
        self.attempts[job.id, job.version] = (verb, job.owner, job.attempt + job.lost)

    def _keep_newest(self, job: Job) -> None:
        for version in [version for of, version in self.attempts if of == job.id]:
            if version <= job.version - KEPT_ATTEMPTS:
                del self.attempts[job.id, version]

    def _lose(self, job: Job, now: dt.datetime) -> None:
        self._note(job, "rescue")
        job.attempt -= 1
        job.lost += 1
        self._back(job, job.lost >= MAX_LOST, now)

    def _give_back(self, job: Job, now: dt.datetime) -> None:
        self._note(job, "release")
        spent = job.releases >= MAX_RELEASES
        job.attempt -= 1
        job.releases += 1
        self._back(job, spent, now)

    def _back(self, job: Job, spent: bool, now: dt.datetime) -> None:
        if job.cancelling:
            self._end(job, "cancelled", now)
        elif spent:
            self._end(job, "failed", now)
        else:
            self._leave(job)
            self._to_line(job)

    def _end(self, job: Job, state: str, now: dt.datetime) -> None:
        self._leave(job)
        job.state = state
        self._resolve_edges(job, now)

    def _resolve_edges(self, job: Job, now: dt.datetime) -> None:
        """Resolve the edges to a job that has ended, once each (rule 10)."""
        for edge in self._open_edges(job):
            edge.resolved = True
            child = self.jobs[edge.child]
            child.pending -= 1
            if child.state != "blocked":
                continue
            if job.state != "succeeded" and edge.on_failure == "cancel":
                self._end(child, "cancelled", now)
            else:
                self._wait(child, now)

    def _open_edges(self, parent: Job) -> Sequence[Edge]:
        return [edge for edge in self.edges if edge.parent == parent.id and not edge.resolved]
