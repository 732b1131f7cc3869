"""The guards of a job's row: one function per verb says from what, to what, and with what else in the same commit."""

from __future__ import annotations

from typing import Any, Final

from conveyor_django.states import TRANSITIONS, WAITING, JobState, Verb, is_legal

from .log import Change, Row
from .model import ENDED, Transaction, instant, refuse, require

_WAITING: Final = frozenset(state.value for state in WAITING)

# What a verb may write; everything else stays as it is.
_LEASE: Final = frozenset({"lease_owner", "lease_expires_at"})
_END: Final = frozenset({"state", "finished_at"}) | _LEASE
_COUNTS: Final = frozenset({"attempt", "lost_count", "release_count"})
WRITES: Final[dict[Verb, frozenset[str]]] = {
    Verb.CLAIM: frozenset({"state", "parked", "attempt", "lease_version", "started_at", "claimed_at"}) | _LEASE,
    Verb.RENEW: frozenset({"lease_expires_at"}),
    Verb.SUCCEED: _END,
    Verb.RETRY: _END | _COUNTS | {"run_at", "ready_seq"},
    Verb.CANCEL: frozenset({"state", "finished_at", "cancel_requested_at", "parked", "idempotency_key"}),
    Verb.PROMOTE: frozenset({"state", "ready_seq", "pending_dependencies", "finished_at"}),
    Verb.REQUEUE: _COUNTS
    | {"state", "finished_at", "cancel_requested_at", "run_at", "ready_seq", "pending_dependencies"},
}
# What is written of a job that keeps its state, by state: parking, the count of edges, a key given up, a request.
_KEEPS: Final[dict[str, tuple[frozenset[str], ...]]] = {
    "blocked": (frozenset({"pending_dependencies"}),),
    "scheduled": (frozenset({"pending_dependencies"}),),
    "ready": (frozenset({"parked"}), frozenset({"pending_dependencies"})),
    "running": (WRITES[Verb.RENEW], frozenset({"cancel_requested_at"}), frozenset({"pending_dependencies"})),
    **dict.fromkeys(ENDED, (frozenset({"idempotency_key"}), frozenset({"pending_dependencies"}))),
}

# Of a run's ending: by how much attempt, lost_count and release_count change.
_CHARGES: Final[dict[str, tuple[int, int, int]]] = {
    "retry": (0, 0, 0), "fail": (0, 0, 0), "cancel": (0, 0, 0),
    "snooze": (-1, 0, 0), "release": (-1, 0, 1), "rescue": (-1, 1, 0),
}  # fmt: skip


def job_changed(tx: Transaction, change: Change) -> None:
    """Hold one change of a job's row against the verbs."""
    old, new = change.old, change.new
    if old is None:
        assert new is not None
        _enqueue(tx, change, new)
    elif new is None:
        require(old["state"] in ENDED, "only what has ended is pruned", change, old["id"])
    else:
        _update(tx, change, old, new)
    tx.replace(change)
    if new is not None:
        tx.touched[new["id"]] = change


def _update(tx: Transaction, change: Change, old: Row, new: Row) -> None:
    before, after = old["state"], new["state"]
    job = new["id"]
    require(new["lease_version"] >= old["lease_version"], "the lease version never falls", change, job)
    if before == after:
        _keep(change, old, new)
        return
    require(is_legal(JobState(before), JobState(after)), f"no verb leads from {before} to {after}", change, job)
    if after == "running":
        _claim(tx, change, old, new)
    elif before == "running":
        (_succeed if after == "succeeded" else _end)(tx, change, old, new)
    elif before in ENDED:
        _requeue(tx, change, old, new)
    elif after == "cancelled":
        _cancel(tx, change, old, new)
    else:
        _promote(tx, change, old, new)


def _written(old: Row, new: Row) -> set[str]:
    return {column for column in new if old.get(column) != new[column]}


def _only(verb: Verb, change: Change, old: Row, new: Row) -> None:
    if extra := _written(old, new) - WRITES[verb]:
        refuse(f"{verb} does not write {', '.join(sorted(extra))}", change, new["id"])


def _by_holder(verb: str, change: Change, owner: str) -> None:
    """Where the session says whose it is, it must be the holder's."""
    require(change.actor in (None, owner), f"only the holder of a lease may {verb}", change, _job(change))


def _job(change: Change) -> Any:
    return (change.new or change.old or {}).get("id")


def _enqueue(tx: Transaction, change: Change, new: Row) -> None:
    job = new["id"]
    require(new["state"] in _WAITING, f"nothing is enqueued as {new['state']}", change, job)
    require(job not in tx.world.versions, "an id is given once", change, job)
    fresh = {"lease_version", "attempt", "lost_count", "release_count"}
    require(not any(new[count] for count in fresh), "a new job has no past", change, job)
    require((new["state"] == "blocked") == (new["pending_dependencies"] > 0), "blocked is who waits", change, job)
    if (workflow := tx.world.rows["conveyor_workflow"].get(new["workflow_id"])) is not None:
        require(workflow["finished_at"] is None, "nothing is added to a finished workflow", change, job)


def _keep(change: Change, old: Row, new: Row) -> None:
    """A verb that changes no state: renew, a request to cancel, parking, the count of a dependant."""
    job, written = new["id"], _written(old, new)
    require(
        any(written <= columns for columns in _KEEPS[new["state"]]),
        f"no verb writes {', '.join(sorted(written))} of a job that stays {new['state']}", change, job,
    )  # fmt: skip
    if "lease_expires_at" in written:
        _by_holder("renew", change, old["lease_owner"])
        require(
            instant(new["lease_expires_at"]) > max(change.began, instant(new["claimed_at"])),
            "a renewal ends later than its own instant", change, job,
        )  # fmt: skip
    if "cancel_requested_at" in written:
        require(old["cancel_requested_at"] is None, "a request to cancel is not taken back", change, job)
    if "pending_dependencies" in written:
        require(new["pending_dependencies"] < old["pending_dependencies"], "edges only lower the count", change, job)
    if "idempotency_key" in written:
        require(new["idempotency_key"] is None, "a key is not given to an old job", change, job)


def _claim(tx: Transaction, change: Change, old: Row, new: Row) -> None:
    job = new["id"]
    _only(Verb.CLAIM, change, old, new)
    require(new["lease_version"] == old["lease_version"] + 1, "a claim adds one to the lease version", change, job)
    require(new["lease_version"] > tx.world.versions.get(job, 0), "a version is given once", change, job)
    require(new["attempt"] == old["attempt"] + 1, "a claim charges one attempt", change, job)
    require(new["parked"] is None and old["parked"] in (None, "key"), "what is parked waits", change, job)
    require(instant(new["lease_expires_at"]) > instant(new["claimed_at"]), "a lease ends after its claim", change, job)
    require(new["started_at"] == (old["started_at"] or new["claimed_at"]), "a job starts once", change, job)
    require(
        not tx.world.rules.real_clock or instant(new["claimed_at"]) == change.began,
        "the claim's clock is the database's", change, job,
    )  # fmt: skip
    _by_holder("claim for itself", change, new["lease_owner"])
    require(
        (old["pending_dependencies"] == 0 and not tx.world.unresolved(job)) or job in tx.world.by_hand,
        "no dependant starts before what it needs has ended", change, job,
    )  # fmt: skip
    tx.claimed[job, new["lease_version"]] = change


def _succeed(tx: Transaction, change: Change, old: Row, new: Row) -> None:
    job, version = new["id"], old["lease_version"]
    _only(Verb.SUCCEED, change, old, new)
    effect = tx.ledger.get((job, version, ""))
    require(effect is not None, "a success has its ledger row in the same commit", change, job)
    assert effect is not None
    assert effect.new is not None
    require(effect.new["owner"] == old["lease_owner"], "only the holder of the lease may succeed", change, job)
    _by_holder("succeed", change, old["lease_owner"])
    tx.used.add((job, version, ""))


def _end(tx: Transaction, change: Change, old: Row, new: Row) -> None:
    """Any ending but a success, by the verb that its Attempt row names."""
    job, version = new["id"], old["lease_version"]
    _only(Verb.RETRY, change, old, new)
    attempt = tx.attempts.get((job, version))
    require(attempt is not None, "a run that ends without success has its Attempt row in the same commit", change, job)
    assert attempt is not None
    row = attempt.new
    assert row is not None
    tx.used.add((job, version))
    verb = Verb(row["verb"])
    require(row["owner"] == old["lease_owner"], "the run that ends is the one that has the lease", change, job)
    require(row["number"] == old["attempt"] + old["lost_count"], "runs are counted", change, job)
    counts = tuple(new[name] - old[name] for name in ("attempt", "lost_count", "release_count"))
    require(counts == _CHARGES[verb.value], f"{verb} charges {_CHARGES[verb.value]}, not {counts}", change, job)
    require(new["state"] == _fate(tx, verb, row, old, new), f"{verb} does not end as {new['state']}", change, job)
    if verb is Verb.RESCUE:
        _rescue(change, old, row)
    elif change.statement == "end_attempts":
        _by_holder(verb.value, change, old["lease_owner"])
    require(
        not tx.world.rules.real_clock or instant(row["finished_at"]) == attempt.began,
        "the ending's clock is the database's", change, job,
    )  # fmt: skip


def _fate(tx: Transaction, verb: Verb, attempt: Row, old: Row, new: Row) -> str:
    """Return the state that a run ends in."""
    rules = tx.world.rules
    if old["cancel_requested_at"] is not None or verb is Verb.CANCEL:
        return "cancelled"
    if (
        verb is Verb.FAIL
        or (verb is Verb.RELEASE and old["release_count"] >= rules.max_releases)
        or (verb is Verb.RESCUE and old["lost_count"] + 1 >= rules.max_lost)
    ):
        return "failed"
    later = instant(new["run_at"]) > instant(attempt["finished_at"])
    return "scheduled" if later and JobState.SCHEDULED in TRANSITIONS[verb][1] else "ready"


def _rescue(change: Change, old: Row, attempt: Row) -> None:
    """Of a lease that has lapsed, or of an owner that its own rescuer has found dead (which the log cannot see)."""
    if change.statement == "rescue_jobs":
        lapsed = instant(old["lease_expires_at"]) < instant(attempt["finished_at"])
        require(lapsed, "only a lapsed lease is rescued", change, old["id"])
    require(
        change.statement in {"rescue_jobs", "rescue_owner"}, f"{change.statement} does not rescue", change, old["id"]
    )


def _requeue(tx: Transaction, change: Change, old: Row, new: Row) -> None:
    job = new["id"]
    _only(Verb.REQUEUE, change, old, new)
    require(not any(new[count] for count in _COUNTS), "a requeued job has fresh budgets", change, job)
    require((job, "") not in tx.world.effects, "what has succeeded is not run again", change, job)
    tx.requeued.add(job)
    tx.world.by_hand.discard(job)
    if new["state"] == "ready" and new["pending_dependencies"]:
        tx.world.by_hand.add(job)


def _cancel(tx: Transaction, change: Change, old: Row, new: Row) -> None:
    """By somebody, by an edge to a job that did not succeed, or as a callback that does not apply."""
    job = new["id"]
    _only(Verb.CANCEL if new["cancel_requested_at"] else Verb.PROMOTE, change, old, new)
    if new["cancel_requested_at"] is None:
        callback = old["workflow_role"] is not None and old["workflow_id"] in tx.finished
        # Which edge it was is settled at the commit: the rows of one statement have no order.
        require(old["state"] == "blocked", "nobody asked for this cancellation", change, job)
        if not callback:
            tx.condemned.add(job)


def _promote(tx: Transaction, change: Change, old: Row, new: Row) -> None:
    job = new["id"]
    _only(Verb.PROMOTE, change, old, new)
    if old["state"] == "blocked":
        require(new["pending_dependencies"] == 0, "who waits for others stays blocked", change, job)
        require(
            old["workflow_role"] is None or old["workflow_id"] in tx.finished,
            "a callback is released by the end of its workflow", change, job,
        )  # fmt: skip
        return
    require(new["pending_dependencies"] == old["pending_dependencies"], "a promotion lowers no count", change, job)
    require(
        not tx.world.rules.real_clock or instant(new["run_at"]) <= change.began, "nothing is promoted early",
        change, job,
    )  # fmt: skip
