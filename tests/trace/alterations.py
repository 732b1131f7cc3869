"""What can be done to a log: functions that alter one thing and say which step must be refused then, by its index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..support.races import A
from .editing import (
    Log,
    altered,
    at,
    dropped,
    everywhere,
    find,
    moved_first,
    repeated,
    swapped,
    torn,
    with_step,
    without_step,
)

JOB, LEDGER, ATTEMPT, EDGE = "conveyor_job", "conveyor_ledger", "conveyor_attempt", "conveyor_dependency"
PERMIT, QUEUE, WORKFLOW, EFFECT = "conveyor_permit", "conveyor_queue", "conveyor_workflow", "test_effect"

LONG_AGO, FAR_AHEAD = "2001-01-01T00:00:00+00:00", "2999-01-01T00:00:00+00:00"

Altered = tuple[Log, int]
Alter = Callable[[Log], Altered]


def change(table: str, nth: int = 0, *, where: dict[str, Any], **values: Any) -> Callable[[Log], Altered]:
    """Alter values of the nth change that has others."""

    def alter(log: Log) -> Altered:
        place = find(log, table, nth, **where)
        return altered(log, place, **values), place.step

    return alter


def drop(table: str, nth: int = 0, **where: Any) -> Callable[[Log], Altered]:
    """Leave one change out of its transaction."""

    def alter(log: Log) -> Altered:
        place = find(log, table, nth, **where)
        return dropped(log, place), place.step

    return alter


def tear(table: str, nth: int = 0, **where: Any) -> Callable[[Log], Altered]:
    """Tear a transaction in two behind a change; its first part must be refused."""

    def alter(log: Log) -> Altered:
        place = find(log, table, nth, **where)
        return torn(log, place), place.step

    return alter


SUCCESS = {"op": "UPDATE", "state": "succeeded"}
CLAIM = {"op": "UPDATE", "state": "running", "old_state": "ready"}
RESCUE = {"old_state": "running", "state": "ready"}
RENEWAL = {"op": "UPDATE", "state": "running", "old_state": "running"}


def zombie_success(log: Log) -> Altered:
    """The old run, which was rescued, ends the newer one's job with its own version."""
    claimed = find(log, JOB, 1, **CLAIM)
    held = at(log, claimed).new
    assert held is not None
    effect = {"job_id": held["id"], "step": "", "lease_version": 1, "owner": str(A), "committed_at": held["claimed_at"]}
    ended = held | {"state": "succeeded", "lease_owner": None, "lease_expires_at": None, "finished_at": "now"}
    like = at(log, claimed)
    changes = (
        replace(like, table=LEDGER, op="INSERT", old=None, new=effect),
        replace(like, old=held, new=ended),
    )
    return with_step(log, claimed.step + 1, *changes), claimed.step + 1


def rescue_of_a_finished_job(log: Log) -> Altered:
    """A rescuer that updates by id reopens what has succeeded."""
    place = find(log, JOB, **SUCCESS)
    like, ended = at(log, place), at(log, place).new
    assert ended is not None
    again = replace(
        like, statement="rescue_jobs", old=ended, new=ended | {"state": "ready", "finished_at": None, "lost_count": 1}
    )
    return with_step(log, place.step + 1, again), place.step + 1


def renewal_after_a_takeover(log: Log) -> Altered:
    """A's heartbeat renews, by the job's id alone, what B holds."""
    place = find(log, JOB, 1, **CLAIM)
    held = at(log, place).new
    assert held is not None
    renewed = replace(
        at(log, place), old=held, new=held | {"lease_expires_at": FAR_AHEAD},
        application=f"conveyor {A} heartbeat", statement="renew_leases",
    )  # fmt: skip
    return with_step(log, place.step + 1, renewed), place.step + 1


def effect_again_after_pruning(log: Log) -> Altered:
    """The ledger row went with its job, and is written once more."""
    row = at(log, find(log, LEDGER, op="DELETE")).old
    like = at(log, find(log, LEDGER, op="INSERT"))
    return with_step(log, len(log), replace(like, new=row)), len(log)


def claim_of_a_held_permit(log: Log) -> Altered:
    """A second job of the key is claimed on the permit of the first, which still runs."""
    return _second_claim(log, permit="held")


def claim_on_a_place_too_many(log: Log) -> Altered:
    """A second job of the key is claimed on a place beyond the cap."""
    return _second_claim(log, permit="another")


def claim_without_a_permit(log: Log) -> Altered:
    """A second job of the key is claimed as a plain one."""
    return _second_claim(log, permit="")


def _second_claim(log: Log, *, permit: str) -> Altered:
    first, taken = find(log, JOB, **CLAIM), find(log, PERMIT, op="UPDATE")
    ready = at(log, find(log, JOB, state="ready", parked="key")).new
    model = at(log, first).new
    assert ready is not None
    assert model is not None
    run = replace(at(log, first), old=ready, new=model | {"id": ready["id"], "ready_seq": ready["ready_seq"]})
    holder = at(log, taken).new
    assert holder is not None
    mine = {"job_id": ready["id"], "lease_version": 1}
    permits = {
        "held": [replace(at(log, taken), old=holder, new=holder | mine)],
        "another": [replace(at(log, taken), op="INSERT", old=None, new=holder | mine | {"id": 0, "number": 2})],
        "": [],
    }
    return with_step(log, first.step + 1, *permits[permit], run), first.step + 1


def lease_that_has_not_lapsed(log: Log) -> Altered:
    """The lease of the run that is rescued, and the expiry in its claim, are years away."""
    far = {"lease_expires_at": FAR_AHEAD}
    claimed, rescued = find(log, JOB, **CLAIM), find(log, JOB, **RESCUE)
    return altered(altered(log, claimed, **far), rescued, old=far), rescued.step


def edge_resolved_too_early(log: Log) -> Altered:
    """An edge is marked before its job ends."""
    place = find(log, EDGE, resolved=True)
    return moved_first(log, place), place.step


def edge_resolved_twice(log: Log) -> Altered:
    """An edge that was resolved is marked again."""
    place = find(log, EDGE, resolved=True)
    return repeated(log, place, resolved=True), place.step


def claim_of_a_blocked_job(log: Log) -> Altered:
    """A dependant is claimed while it waits."""
    blocked = find(log, JOB, op="INSERT", state="blocked")
    row = at(log, blocked).new
    claimed = at(log, find(log, JOB, **CLAIM))
    assert row is not None
    assert claimed.new is not None
    lease = {
        name: claimed.new[name]
        for name in ("state", "attempt", "lease_version", "lease_owner", "lease_expires_at", "started_at", "claimed_at")
    }
    return with_step(log, blocked.step + 1, replace(claimed, old=row, new=row | lease)), blocked.step + 1


def workflow_finished_early(log: Log) -> Altered:
    """It is finished when its first job has been added."""
    like = at(log, find(log, WORKFLOW, op="UPDATE"))
    index = find(log, JOB, op="INSERT").step + 1
    return with_step(log, index, like), index


def step_recorded_twice(log: Log) -> Altered:
    """The second step has the name of the first."""
    place = find(log, LEDGER, step="send")
    return altered(log, place, step="pay"), place.step


def swap_claim_and_renewal(log: Log) -> Altered:
    """Two transactions in the wrong order."""
    claimed = find(log, JOB, **CLAIM)
    return swapped(log, claimed.step), claimed.step


def leave_the_claim_out(log: Log) -> Altered:
    """A commit is missing."""
    claimed = find(log, JOB, **CLAIM)
    return without_step(log, claimed.step), claimed.step


def number_twice(log: Log) -> Altered:
    """Two commits of one number."""
    return [*log[:2], replace(log[2], number=log[1].number), *log[3:]], 2


def cap_of_one(log: Log) -> Altered:
    """The cap of the queue was one all the time."""
    return everywhere(log, QUEUE, exact_cap=1), find(log, JOB, **CLAIM).step


def edges_that_do_not_cancel(log: Log) -> Altered:
    """A dependant is cancelled although its edge says that it goes on."""
    return everywhere(log, EDGE, on_failure="run"), find(log, JOB, state="cancelled", old_state="blocked").step


def ledger_row_changed(log: Log) -> Altered:
    """The result of an effect is written over."""
    place = find(log, LEDGER, step="pay")
    row = at(log, place).new
    again = replace(at(log, place), op="UPDATE", old=row, new=row)
    return with_step(log, place.step + 1, again), place.step + 1
