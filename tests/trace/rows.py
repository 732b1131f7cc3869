"""The guards of what stands beside a job: ledger, attempts, edges, permits, caps, workflows, cron entries, effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .jobs import job_changed
from .log import BASE, Change
from .model import Caps, Transaction, instant, refuse, require

# How the names end of effects that their handlers write behind `fence()`.
FENCED: Final = "fenced"

Guard = Callable[[Transaction, Change], None]


def apply_change(tx: Transaction, change: Change) -> None:
    """Hold a change against the guards of its table, and make it."""
    if change.op == BASE:
        _begin(tx, change)
    else:
        _GUARDS[change.table](tx, change)


def _begin(tx: Transaction, change: Change) -> None:
    """Take what was there before the log as it is."""
    row = change.new
    assert row is not None
    if change.table in _GUARDS and change.table != "test_effect":
        tx.replace(change)
    if change.table == "conveyor_job":
        tx.world.versions[row["id"]] = row["lease_version"]
        if row["state"] != "blocked" and row["pending_dependencies"]:
            tx.world.by_hand.add(row["id"])
    elif change.table == "conveyor_ledger":
        tx.world.effects.add((row["job_id"], row["step"]))
    elif change.table == "conveyor_dependency":
        tx.world.edges[row["job_id"]][row["id"]] = row
    elif change.table == "conveyor_queue":
        _set_caps(tx, change)


def _ledger(tx: Transaction, change: Change) -> None:
    old, new = change.old, change.new
    if new is None:
        assert old is not None
        require(old["job_id"] in tx.deleted, "the ledger goes with its job alone", change, old["job_id"])
    elif old is not None:
        refuse("the ledger is append-only", change, new["job_id"])
    else:
        job, step = new["job_id"], new["step"]
        require((job, step) not in tx.world.effects, "an effect commits at most once", change, job)
        tx.world.effects.add((job, step))
        if step:
            _hold_fence(tx, change)
    tx.replace(change)


def _hold_fence(tx: Transaction, change: Change) -> None:
    """A durable step is recorded by the run that holds the lease; a success is held against the job's own change."""
    row = change.new
    assert row is not None
    job = tx.world.jobs.get(row["job_id"])
    require(
        job is not None and job["state"] == "running"
        and (job["lease_version"], job["lease_owner"]) == (row["lease_version"], row["owner"]),
        "only the holder of the lease records a step", change, row["job_id"],
    )  # fmt: skip


def _attempt(tx: Transaction, change: Change) -> None:
    old, new = change.old, change.new
    if new is None:
        assert old is not None
        job = tx.world.jobs.get(old["job_id"])
        kept = job is not None and old["lease_version"] > job["lease_version"] - tx.world.rules.max_attempt_rows
        require(old["job_id"] in tx.deleted or not kept, "the newest attempts of a job are kept", change, old["job_id"])
    else:
        require(old is None, "an attempt is written once", change, new["job_id"])
    tx.replace(change)


def _dependency(tx: Transaction, change: Change) -> None:
    old, new = change.old, change.new
    if new is None:
        assert old is not None
        require(old["job_id"] in tx.deleted, "an edge goes with its job alone", change, old["job_id"])
        del tx.world.edges[old["job_id"]][old["id"]]
    else:
        job, needs = new["job_id"], new["needs_id"]
        if old is None:
            require(not new["resolved"] and needs < job, "a new edge leads to an older job", change, job)
        elif new["resolved"]:
            require(old == new | {"resolved": False}, "an edge is resolved once", change, job)
            require(tx.world.has_ended(needs), "an edge is resolved when its job has ended", change, job)
        tx.world.edges[job][new["id"]] = new
        if job in tx.world.jobs:
            tx.touched.setdefault(job, change)
    tx.replace(change)


def _permit(tx: Transaction, change: Change) -> None:
    old, new = change.old, change.new
    if old is not None:
        holder = tx.world.jobs.get(old["job_id"], {})
        held = (holder.get("state"), holder.get("lease_version")) == ("running", old["lease_version"])
        require(not held, "a permit is free when its run is over", change, old["job_id"])
    if new is not None and new["job_id"]:
        tx.permits[new["job_id"], new["lease_version"]].append(new["key"])
    tx.replace(change)


def _queue(tx: Transaction, change: Change) -> None:
    _set_caps(tx, change)
    tx.replace(change)


def _set_caps(tx: Transaction, change: Change) -> None:
    """Note the caps that a queue has now; without a row it has the defaults."""
    row = change.new or {}
    given = {"queue": row.get("exact_cap"), "key": row.get("key_cap")}
    caps = Caps(**{name: cap for name, cap in given.items() if cap is not None})
    name = (change.new or change.old or {})["name"]
    if change.op == BASE:
        tx.world.caps[name] = [caps]
    else:
        tx.world.new_caps.append((name, caps))


def _workflow(tx: Transaction, change: Change) -> None:
    if change.new is None:
        assert change.old is not None
        members = [job for job in tx.world.jobs.values() if job["workflow_id"] == change.old["id"]]
        require(not members, "a workflow stays as long as a job of it", change, None)
    elif change.old is not None and change.new["finished_at"] is not None:
        require(change.old["finished_at"] is None, "a workflow finishes once", change, None)
    tx.replace(change)


def _cron(tx: Transaction, change: Change) -> None:
    if change.old is not None and change.new is not None and change.old["last_tick"] is not None:
        require(
            change.new["last_tick"] is not None
            and instant(change.new["last_tick"]) >= instant(change.old["last_tick"]),
            "the last tick of a cron entry never falls", change, None,
        )  # fmt: skip
    tx.replace(change)


def _effect(tx: Transaction, change: Change) -> None:
    """A row that a handler wrote: with a ledger row of its job in the same commit, it is that run's.

    One that was written behind `fence()`, by its name, commits while its run holds the lease.
    """
    row = change.new
    if row is None or row.get("job") is None or row.get("token") is None:
        return
    versions = {version for job, version, _ in tx.ledger if job == row["job"]}
    require(versions <= {row["token"]}, "an effect and the ledger row of its commit are of one run", change, row["job"])
    require(
        row["token"] <= tx.world.versions.get(row["job"], 0), "an effect is of a run that began", change, row["job"]
    )
    if row["step"] is None and row["name"].endswith(FENCED):
        job = tx.world.jobs.get(row["job"], {})
        holds = (job.get("state"), job.get("lease_version")) == ("running", row["token"])
        mine = change.actor in (None, job.get("lease_owner"))
        require(holds and mine, "what is fenced commits under the lease", change, row["job"])


_GUARDS: Final[dict[str, Guard]] = {
    "conveyor_job": job_changed,
    "conveyor_ledger": _ledger,
    "conveyor_attempt": _attempt,
    "conveyor_dependency": _dependency,
    "conveyor_permit": _permit,
    "conveyor_queue": _queue,
    "conveyor_workflow": _workflow,
    "conveyor_cron": _cron,
    "test_effect": _effect,
}
