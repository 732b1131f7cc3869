"""More mutants than the races have: what a verb writes and counts, which no second worker is needed to see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from ...concurrency import flows, scenarios
from ...concurrency.cap_mutants import CAP_MUTANTS
from ...concurrency.flow_mutants import MUTANTS as FLOW_MUTANTS
from ...concurrency.mutants import MUTANTS, Mutant, altered
from ...support.factories import in_seconds
from ...support.races import A
from ...trace.runs import RUNS, Traced


def requeue_of_a_success(flow: Traced) -> None:
    """Somebody asks for a job that has succeeded to be run again."""
    [run] = flow.enqueue_and_claim(A)
    flow.succeed(A, run)
    assert flow.jobs.requeue_jobs([run.id], on=flow.main) == {}


def rescue_of_a_living_run(flow: Traced) -> None:
    """A rescuer looks while the lease lasts."""
    [run] = flow.enqueue_and_claim(A)
    assert flow.jobs.rescue_jobs(limit=9, max_lost=3, on=flow.main) == []
    flow.succeed(A, run)


def cancel_of_a_lost_run(flow: Traced) -> None:
    """A job is asked to be cancelled, and its worker is lost."""
    [run] = flow.enqueue_and_claim(A)
    flow.jobs.cancel_job(run.id, on=flow.main)
    flow.rescue()
    assert flow.job(run.id).state == "cancelled"


def retention_of_what_waits(flow: Traced) -> None:
    """Old jobs go, with all that belongs to them."""
    [run] = flow.enqueue_and_claim(A)
    flow.record(A, run)
    flow.succeed(A, run)
    flow.jobs.prune_jobs(limit=9, retention=0, failed_retention=0, now=in_seconds(1), on=flow.main)


OWN: Final[dict[str, Callable[[Traced], None]]] = {
    scenario.__name__: scenario
    for scenario in (
        requeue_of_a_success, rescue_of_a_living_run, cancel_of_a_lost_run, retention_of_what_waits,
    )
}  # fmt: skip

SCENARIOS: Final[dict[str, Callable[[Any], None]]] = {**scenarios.SCENARIOS, **flows.SCENARIOS, **RUNS, **OWN}

_CLAIM = "        attempt = job.attempt + 1,\n"
_REQUEUED = "attempt = 0, lost_count = 0, release_count = 0,"

_SUCCEEDED = "finished_at = (SELECT now FROM clock),\n        lease_owner = NULL, lease_expires_at = NULL"

_BLOCKED = """WHEN input.pending > 0 THEN 'blocked'
                WHEN input.run_at > clock.now THEN 'scheduled' ELSE 'ready' END AS state,
           CASE WHEN input.pending > 0 OR"""

MORE: Final[list[Mutant]] = [
    Mutant(what, {name: altered(name, (old, new))}, (scenario,))
    for what, name, old, new, scenario in [
        ("claim_jobs that keeps the version", "claim_jobs", "lease_version = job.lease_version + 1,\n        lease_exp",
         "lease_version = greatest(job.lease_version, 1),\n        lease_exp", "late_after_taking_it_again:succeed"),
        ("claim_jobs that charges nothing", "claim_jobs", _CLAIM, "", "endings"),
        ("requeue_jobs that begins the versions anew", "requeue_jobs", _REQUEUED, f"{_REQUEUED} lease_version = 0,",
         "by_hand"),
        ("requeue_jobs that keeps what was used up", "requeue_jobs", _REQUEUED, "", "by_hand"),
        ("requeue_jobs of what has succeeded", "requeue_jobs", "IN ('failed', 'cancelled')",
         "IN ('failed', 'cancelled', 'succeeded')", "requeue_of_a_success"),
        ("rescue_jobs of leases that last", "rescue_jobs", " AND job.lease_expires_at < (SELECT now FROM clock)", "",
         "rescue_of_a_living_run"),
        ("rescue_jobs that charges the attempt", "rescue_jobs", "        attempt = job.attempt - 1,\n", "",
         "lost_runs"),
        ("rescue_jobs that counts no loss", "rescue_jobs", "        lost_count = job.lost_count + 1,\n", "",
         "lost_runs"),
        ("rescue_jobs that forgets a request to cancel", "rescue_jobs", "WHEN held.cancelling THEN 'cancelled'\n",
         "WHEN false THEN 'cancelled'\n", "cancel_of_a_lost_run"),
        ("end_attempts that counts no release", "end_attempts",
         "job.release_count + (fate.verb = 'release')::integer", "job.release_count", "endings"),
        ("end_attempts that charges a snooze", "end_attempts", "(fate.verb IN ('snooze', 'release'))::integer",
         "(fate.verb = 'release')::integer", "endings"),
        ("end_attempts that forgets a request to cancel", "end_attempts", "WHEN held.cancelling OR held.verb",
         "WHEN held.verb", "endings"),
        ("release_unknown that counts no release", "release_unknown",
         "        release_count = job.release_count + 1,\n", "", "lost_runs"),
        ("succeed_jobs that frees no lease", "succeed_jobs", _SUCCEEDED, _SUCCEEDED.split(",", maxsplit=1)[0],
         "success"),
        ("prune_jobs that leaves the ledger", "prune_jobs",
         "ledgers AS (DELETE FROM conveyor_ledger WHERE job_id = ANY (ARRAY(SELECT id FROM doomed))),\n", "",
         "retention_of_what_waits"),
        ("enqueue_jobs that makes ready who waits for others", "enqueue_jobs", _BLOCKED,
         _BLOCKED.replace("input.pending > 0", "false"), "graph"),
        ("retry_workflow that leaves the edges resolved", "retry_workflow",
         "    SET resolved = false\n", "    SET resolved = true\n", "broken_graph"),
    ]
]  # fmt: skip


def _merged(mutants: list[Mutant]) -> list[Mutant]:
    """Return them with the races together of those that are listed in several places."""
    by_name: dict[str, Mutant] = {}
    for mutant in mutants:
        known = by_name.setdefault(mutant.what, mutant)
        assert known.texts == mutant.texts, mutant.what
        if known is not mutant:
            by_name[mutant.what] = replace(known, caught_by=known.caught_by + mutant.caught_by)
    return list(by_name.values())


ALL: Final = _merged([*MUTANTS, *CAP_MUTANTS, *FLOW_MUTANTS, *MORE])
PLAYED: Final = [mutant for mutant in ALL if mutant.caught_by]

# Guards whose loss no promise notices, since another one covers them, and which one that is.
COVERED: Final[dict[str, str]] = {
    "release_unknown that knows jobs by id alone": "nobody renews the unknown run: it is rescued when its lease lapses",
    **{
        f"{name} without the state": "the owner is there only while the job runs"
        for name in ("succeed_jobs", "end_attempts", "renew_leases", "record_step")
    },
}
