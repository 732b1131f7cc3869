"""What must hold at a commit: what its changes owe one another, the caps, and the invariants of each job it touched."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .log import Change, Row
from .model import ENDED, Caps, Transaction, require


def settle(tx: Transaction) -> None:
    """Hold the transaction as a whole against the model. Raises Forbidden."""
    _runs_have_ended(tx)
    _workflows_have_ended(tx)
    _permits_were_taken(tx)
    _pruned_are_gone(tx)
    for job, change in tx.touched.items():
        if (row := tx.world.jobs.get(job)) is not None:
            _job_is_whole(tx, row, change)
    _caps_hold(tx)


def _runs_have_ended(tx: Transaction) -> None:
    """Every row that says how a run ended has its run's end beside it, and an effect its run."""
    for (job, version, step), change in tx.ledger.items():
        require(
            bool(step) or (job, version, "") in tx.used, "a ledger row ends its run in the same commit", change, job
        )
    for (job, version), change in tx.attempts.items():
        require((job, version) in tx.used, "an Attempt row ends its run in the same commit", change, job)
    for job in tx.condemned:
        cancels = any(_has_cancelled(tx, edge) for edge in tx.world.edges[job].values())
        require(cancels, "a dependant is cancelled by a job that did not succeed", tx.touched[job], job)


def _has_cancelled(tx: Transaction, edge: Row) -> bool:
    needed = tx.world.jobs.get(edge["needs_id"])
    return edge["resolved"] and edge["on_failure"] == "cancel" and (needed is None or needed["state"] != "succeeded")


def _workflows_have_ended(tx: Transaction) -> None:
    for workflow, change in tx.finished.items():
        members = [job for job in tx.world.jobs.values() if job["workflow_id"] == workflow]
        jobs = [job for job in members if job["workflow_role"] is None]
        require(all(job["state"] in ENDED for job in jobs), "a workflow finishes with its last job", change)
        succeeded = all(job["state"] == "succeeded" for job in jobs)
        for callback in (job for job in members if job["workflow_role"] is not None):
            require(callback["state"] != "blocked", "a finished workflow has released its callbacks", change)
            applies = callback["workflow_role"] in ("on_completion", "on_success" if succeeded else "on_failure")
            released = callback["id"] in tx.touched and callback["state"] != "cancelled"
            require(applies or not released, "a callback runs where it applies", change, callback["id"])
    for workflow, change in tx.reopened.items():
        again = any(tx.world.jobs[job]["workflow_id"] == workflow for job in tx.requeued)
        require(again, "a workflow is opened again for its jobs", change)


def _permits_were_taken(tx: Transaction) -> None:
    """A claim and its permits name one another."""
    for (job, version), keys in tx.permits.items():
        change = tx.claimed.get((job, version))
        require(change is not None, "a permit is taken by the claim of its run", None, job)
        assert change is not None
        assert change.new is not None
        require(len(keys) == len(set(keys)), "a run takes one permit of a cap", change, job)
        require(set(keys) <= {"", change.new["concurrency_key"]}, "a permit is of the job's own cap", change, job)
    for (job, version), change in tx.claimed.items():
        assert change.new is not None
        key = change.new["concurrency_key"]
        require(key is None or key in tx.permits[job, version], "a job with a key runs by a permit", change, job)


def _pruned_are_gone(tx: Transaction) -> None:
    """A job that is pruned leaves nothing that belongs to it."""
    if not tx.deleted:
        return
    for table in ("conveyor_ledger", "conveyor_attempt", "conveyor_dependency"):
        for row in tx.world.rows[table].values():
            require(row["job_id"] not in tx.deleted, "a job is pruned with all that belongs to it", None, row["job_id"])


def _caps_hold(tx: Transaction) -> None:
    """No claim brings more to run at once than an exact cap allows that it may have seen: settings are not locked."""
    for (job, _), change in tx.claimed.items():
        row = change.new
        assert row is not None
        seen = list(_caps_in_force(tx, row["queue"], change))
        cap = max(caps.queue for caps in seen)
        if not math.isinf(cap):
            require(tx.world.running(row["queue"]) <= cap, "a queue's exact cap holds", change, job)
        if (key := row["concurrency_key"]) is not None:
            cap = max(caps.key for caps in seen)
            require(tx.world.running(row["queue"], key) <= cap, "the cap of a key holds", change, job)


def _caps_in_force(tx: Transaction, queue: str, claim: Change) -> Iterable[Caps]:
    known = tx.world.caps.get(queue, [Caps()])
    yield [caps for caps in known if caps.since <= claim.began][-1]
    yield from (caps for caps in known if caps.since > claim.began)


def _job_is_whole(tx: Transaction, job: Row, change: Change) -> None:
    number, state = job["id"], job["state"]
    leased = job["lease_owner"] is not None and job["lease_expires_at"] is not None
    free = job["lease_owner"] is None and job["lease_expires_at"] is None
    require(leased if state == "running" else free, "who runs has a lease, and nobody else", change, number)
    require((job["finished_at"] is not None) == (state in ENDED), "who has ended says when", change, number)
    highest = tx.world.versions.get(number, 0)
    require(job["lease_version"] >= highest, "the lease version never falls", change, number)
    tx.world.versions[number] = job["lease_version"]
    effect = tx.world.rows["conveyor_ledger"].get((number, ""))
    require((effect is not None) == (state == "succeeded"), "who has succeeded has a ledger row", change, number)
    require(
        effect is None or effect["lease_version"] == job["lease_version"], "the ledger row is of the last run", change,
        number,
    )  # fmt: skip
    if job["workflow_id"] is not None and job["workflow_role"] is None:
        require(
            job["pending_dependencies"] == tx.world.unresolved(number),
            "a job waits for as many as it has unresolved edges", change, number,
        )  # fmt: skip
