"""Logs that a broken protocol would leave: for each mutation, of which run, what is altered, and which guard refuses.

They correspond to the mutants of the model (`spec/tla/mutants`) and of the SQL, and to logs that were not kept well.
Each function alters one thing; it returns the log and the index of the step that must be refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..support.races import B
from . import alterations as made
from .alterations import (
    ATTEMPT,
    CLAIM,
    EDGE,
    EFFECT,
    JOB,
    LEDGER,
    LONG_AGO,
    RENEWAL,
    RESCUE,
    SUCCESS,
    WORKFLOW,
    Altered,
    change,
    drop,
    tear,
)
from .editing import Log


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One alteration of the log of a run, and the guard that must refuse it."""

    what: str
    run: str
    alter: Callable[[Log], Altered]
    guard: str

    def __str__(self) -> str:
        return self.what


_BEGIN = "a change begins with the row as the commits before have left it"
_PAIRED = "a success has its ledger row in the same commit"

MUTATIONS: list[Mutation] = [
    Mutation(what=what, run=run, alter=alter, guard=guard)
    for what, run, alter, guard in [
        # The fence.
        ("a success under an old version", "lost_runs", made.zombie_success, _PAIRED),
        ("a ledger row of an old version", "success", change(LEDGER, where={"step": ""}, lease_version=0), _PAIRED),
        ("a success of another owner", "success", change(LEDGER, where={"step": ""}, owner=str(B)),
         "only the holder of the lease may succeed"),
        ("a success from another's session", "success", change(JOB, where=SUCCESS, session=B),
         "only the holder of a lease may succeed"),
        ("a success without its ledger row", "success", drop(LEDGER, step=""), _PAIRED),
        ("a ledger row without its success", "success", drop(JOB, **SUCCESS),
         "a ledger row ends its run in the same commit"),
        ("a success torn in two", "success", tear(LEDGER, step=""), "a ledger row ends its run in the same commit"),
        ("a step recorded twice", "success", made.step_recorded_twice, "an effect commits at most once"),
        ("a step of another owner", "success", change(LEDGER, where={"step": "pay"}, owner=str(B)),
         "only the holder of the lease records a step"),
        ("a step under an old version", "success", change(LEDGER, where={"step": "pay"}, lease_version=0),
         "only the holder of the lease records a step"),
        ("an effect again after its pruning", "by_hand", made.effect_again_after_pruning,
         "an effect commits at most once"),
        ("a ledger row changed", "success", made.ledger_row_changed, "the ledger is append-only"),
        ("a ledger row deleted without its job", "by_hand", drop(JOB, 1, op="DELETE"),
         "the ledger goes with its job alone"),
        ("an effect of another run than its ledger row", "in_one_commit", change(EFFECT, where={"name": "n"}, token=9),
         "an effect and the ledger row of its commit are of one run"),
        # The version.
        ("a version that falls", "success", change(JOB, where=SUCCESS, lease_version=0),
         "the lease version never falls"),
        ("a version given twice", "lost_runs", change(JOB, 1, where=CLAIM, lease_version=1),
         "a claim adds one to the lease version"),
        # Claim and renewal.
        ("a claim that charges nothing", "success", change(JOB, where=CLAIM, attempt=0),
         "a claim charges one attempt"),
        ("a claim for somebody else", "success", change(JOB, where=CLAIM, session=B),
         "only the holder of a lease may claim for itself"),
        ("a lease that ends before its claim", "success", change(JOB, where=CLAIM, lease_expires_at=LONG_AGO),
         "a lease ends after its claim"),
        ("a renewal of another's token", "lost_runs", made.renewal_after_a_takeover,
         "only the holder of a lease may renew"),
        ("a renewal into the past", "success", change(JOB, where=RENEWAL, lease_expires_at=LONG_AGO),
         "a renewal ends later than its own instant"),
        ("a renewal that changes the owner", "success", change(JOB, where=RENEWAL, lease_owner=str(B)),
         "no verb writes lease_expires_at, lease_owner of a job that stays running"),
        # Rescue and other endings.
        ("a rescue of a finished job", "success", made.rescue_of_a_finished_job,
         "no verb leads from succeeded to ready"),
        ("a rescue of a lease that has not lapsed", "lost_runs", made.lease_that_has_not_lapsed,
         "only a lapsed lease is rescued"),
        ("a rescue without its Attempt row", "lost_runs", drop(ATTEMPT, verb="rescue"),
         "a run that ends without success has its Attempt row in the same commit"),
        ("an Attempt row without its ending", "endings", drop(JOB, old_state="running", state="ready"),
         "an Attempt row ends its run in the same commit"),
        ("an ending of another owner's run", "endings", change(ATTEMPT, where={"verb": "retry"}, owner=str(B)),
         "the run that ends is the one that has the lease"),
        ("a rescue that keeps its attempt charged", "lost_runs", change(JOB, where=RESCUE, attempt=1),
         "rescue charges (-1, 1, 0), not (0, 1, 0)"),
        ("a job lost too often that goes on", "lost_runs", change(
            JOB, where={"old_state": "running", "state": "failed"}, state="ready", finished_at=None),
         "rescue does not end as ready"),
        ("a request to cancel that is forgotten", "endings", change(
            JOB, 1, where={"old_state": "running", "state": "cancelled"}, state="ready", finished_at=None),
         "retry does not end as ready"),
        ("a requeue of old budgets", "by_hand", change(JOB, where={"old_state": "failed", "state": "ready"}, attempt=1),
         "a requeued job has fresh budgets"),
        ("a prune of a job that waits", "by_hand", change(JOB, where={"op": "DELETE"}, old={"state": "ready"}),
         "only what has ended is pruned"),
        ("a prune that leaves an Attempt row", "by_hand", drop(ATTEMPT, op="DELETE"),
         "a job is pruned with all that belongs to it"),
        # Workflows.
        ("an edge counted twice", "graph", drop(EDGE, resolved=True),
         "a job waits for as many as it has unresolved edges"),
        ("an edge resolved twice", "graph", made.edge_resolved_twice, "an edge is resolved once"),
        ("an edge resolved before its job ends", "graph", made.edge_resolved_too_early,
         "an edge is resolved when its job has ended"),
        ("a dependant claimed while it waits", "graph", made.claim_of_a_blocked_job,
         "no verb leads from blocked to running"),
        ("a dependant released before its last edge", "graph", change(
            JOB, where={"old_state": "blocked", "state": "blocked"}, state="ready", ready_seq=1),
         "who waits for others stays blocked"),
        ("a dependant that starts as if it waited for nobody", "graph", change(
            JOB, where={"op": "INSERT", "state": "blocked"}, state="ready"), "blocked is who waits"),
        ("a dependant cancelled for nothing", "broken_graph", made.edges_that_do_not_cancel,
         "a dependant is cancelled by a job that did not succeed"),
        ("a callback before its workflow's end", "graph", drop(WORKFLOW, op="UPDATE"),
         "a callback is released by the end of its workflow"),
        ("a workflow finished early", "graph", made.workflow_finished_early, "a workflow finishes with its last job"),
        ("a job torn from its edges", "graph", tear(JOB, op="INSERT", state="blocked"),
         "a job waits for as many as it has unresolved edges"),
        # Caps.
        ("a claim on a permit that is held", "capped_key", made.claim_of_a_held_permit,
         "a permit is free when its run is over"),
        ("a claim without a permit", "capped_key", made.claim_without_a_permit, "a job with a key runs by a permit"),
        ("a claim above the cap of a key", "capped_key", made.claim_on_a_place_too_many, "the cap of a key holds"),
        ("a claim above the cap of a queue", "capped_queue", made.cap_of_one, "a queue's exact cap holds"),
        # The log itself.
        ("two transactions swapped", "success", made.swap_claim_and_renewal, _BEGIN),
        ("a transaction left out", "success", made.leave_the_claim_out, _BEGIN),
        ("two commits of one number", "success", made.number_twice, "commits are numbered in their order"),
    ]
]  # fmt: skip
