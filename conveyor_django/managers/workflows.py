"""Statements about workflows: their edges, their end, and what is done to them as a whole."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..states import JobState, OnFailure
from .base import Connection, StatementManager
from .duties import LOCK_CLASS, PRUNE_LOCK


class Edge(NamedTuple):
    """Job `job` needs job `needs`."""

    job: int
    needs: int
    on_failure: OnFailure


class Changed(NamedTuple):
    """A job, and the state that it has now."""

    id: int
    queue: str
    state: JobState


@dataclass(frozen=True, slots=True)
class Finished:
    """Workflows that were finished, and the queues of those of their callbacks that are ready."""

    ids: set[int]
    queues: set[str]


class Retried(NamedTuple):
    """A job that is to run again."""

    id: int
    queue: str
    state: JobState
    is_callback: bool


class NeededRow(NamedTuple):
    """How a job ended that another one needs; `state` is None where its row is gone."""

    id: int
    name: str | None
    state: JobState | None
    on_failure: OnFailure
    result: Any
    error_class: str | None
    message: str | None


class Stuck(NamedTuple):
    """A blocked job that nothing will release."""

    id: int
    queue: str
    task: str
    workflow_id: int | None
    reason: str


class WorkflowManager(StatementManager):
    """The statements on workflows and their edges; instants are the database's unless `now` is given."""

    # -- made and added to ---------------------------------------------------------------------------------

    def add_workflow(self, name: str, *, now: dt.datetime | None = None, on: Connection | None = None) -> int:
        """Begin a workflow; return its id."""
        return int(self.rows("add_workflow", {"name": name, "now": now}, on)[0][0])

    def add_edges(self, edges: Sequence[Edge], *, on: Connection | None = None) -> None:
        """Store edges of jobs that were added just now."""
        params = {
            "jobs": [edge.job for edge in edges], "needs": [edge.needs for edge in edges],
            "on_failures": [edge.on_failure.value for edge in edges],
        }  # fmt: skip
        self.rows("add_edges", params, on)

    def join_workflow(self, workflow_id: int, *, on: Connection | None = None) -> bool | None:
        """Hold a workflow for adding to it, to the end of the transaction; say whether it goes on, None: unknown."""
        rows = self.rows("join_workflow", {"id": workflow_id}, on)
        return rows[0][0] is None if rows else None

    # -- their jobs' ends ----------------------------------------------------------------------------------

    def resolve_edges(
        self, parents: Iterable[int], *, now: dt.datetime | None = None, on: Connection | None = None
    ) -> list[Changed]:
        """Resolve the edges to jobs that have ended; return the dependants that were lowered by it."""
        rows = self.rows("resolve_edges", {"parents": list(parents), "now": now}, on)
        return [Changed(job_id, queue, JobState(state)) for job_id, queue, state in rows]

    def find_late_edges(self, *, limit: int, after: int = 0, on: Connection | None = None) -> list[int]:
        """Return jobs of ids above `after` that have ended and have unresolved edges, by up to `limit` edges."""
        return [row[0] for row in self.rows("find_late_edges", {"limit": limit, "after": after}, on)]

    def list_dependants(self, parents: Iterable[int], *, on: Connection | None = None) -> tuple[set[str], bool]:
        """Return the queues where dependants of these jobs are ready, and whether some edge is unresolved."""
        rows = self.rows("list_dependants", {"parents": list(parents)}, on)
        return {queue for queue, _ in rows if queue is not None}, any(late for _, late in rows)

    def finish_workflows(
        self, ids: Iterable[int], *, now: dt.datetime | None = None, on: Connection | None = None
    ) -> Finished:
        """Finish those of the workflows of which every job has ended, and release their callbacks."""
        rows = self.rows("finish_workflows", {"ids": sorted(set(ids)), "now": now}, on)
        return Finished({row[0] for row in rows}, {queue for _, queue, state in rows if state == JobState.READY})

    def find_ended_workflows(self, *, limit: int, on: Connection | None = None) -> list[int]:
        """Return up to `limit` unfinished workflows of which every job has ended."""
        return [row[0] for row in self.rows("find_ended_workflows", {"limit": limit}, on)]

    # -- what a dependant is told --------------------------------------------------------------------------

    def list_needed(self, job_id: int, *, on: Connection | None = None) -> list[NeededRow]:
        """Return what a job needs, the oldest first."""
        return [
            NeededRow(
                needs, name, JobState(state) if state else None, OnFailure(policy),
                None if result is None else json.loads(result), error_class, message,
            )
            for needs, name, state, policy, result, error_class, message in self.rows("list_needed", {"id": job_id}, on)
        ]  # fmt: skip

    # -- by hand -------------------------------------------------------------------------------------------

    def lock_workflow(self, workflow_id: int, *, on: Connection | None = None) -> bool:
        """Have a workflow to oneself, to the end of the transaction; False if there is none."""
        return bool(self.rows("lock_workflow", {"id": workflow_id}, on))

    def cancel_workflow(
        self, workflow_id: int, *, now: dt.datetime | None = None, on: Connection | None = None
    ) -> dict[int, JobState]:
        """Cancel what has not ended: {id: `cancelled`, or `running` where the request was noted}."""
        rows = self.rows("cancel_workflow", {"id": workflow_id, "now": now}, on)
        return {job_id: JobState(state) for job_id, state in rows}

    def lock_dead_jobs(self, workflow_id: int, *, on: Connection | None = None) -> list[int]:
        """Lock the workflow's failed and cancelled jobs, to the end of the transaction; return their ids."""
        return [row[0] for row in self.rows("lock_dead_jobs", {"id": workflow_id}, on)]

    def retry_workflow(
        self, ids: Iterable[int], *, now: dt.datetime | None = None, on: Connection | None = None
    ) -> list[Retried]:
        """Run these failed and cancelled jobs of one workflow again, in the order of their edges."""
        rows = self.rows("retry_workflow", {"ids": list(ids), "now": now}, on)
        return [Retried(job_id, queue, JobState(state), callback) for job_id, queue, state, callback in rows]

    # -- the scheduler's look ------------------------------------------------------------------------------

    def find_stuck(self, *, limit: int, on: Connection | None = None) -> list[Stuck]:
        """Return up to `limit` blocked jobs that nothing will release."""
        return [Stuck(*row) for row in self.rows("find_stuck", {"limit": limit}, on)]

    def prune_workflows(
        self,
        *,
        limit: int,
        retention: float | None,
        failed_retention: float | None,
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> int:
        """Delete up to `limit` finished workflows that have no jobs left; return how many went."""
        params = {
            "limit": limit, "retention": retention, "failed_retention": failed_retention, "now": now,
            "lock_class": LOCK_CLASS, "lock_id": PRUNE_LOCK,
        }  # fmt: skip
        return len(self.rows("prune_workflows", params, on))
