"""The statements with one guard broken each, and the scenarios that catch it.

What covers what: version and owner each stop a zombie whose job another worker runs, so that scenario catches
neither alone. The version alone stops a zombie thread whose own worker runs the job again; the owner alone stops one
whose claim a failover lost. The state is covered by the owner, who is there only while the job runs; the two together
stop one whose job waits after a rescue. The ledger's key stops a second effect even where the whole fence is gone,
and the attempts' key stops an ending of a run that a rescue has ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from conveyor_django.sql import statement

from .late import STATEMENTS, WRITES

FENCE = """
        WHERE job.id = given.id AND job.state || '' = 'running'
          AND job.lease_owner = %(owner)s::uuid AND job.lease_version = given.version
        FOR NO KEY UPDATE SKIP LOCKED
"""
LOCK = "        FOR NO KEY UPDATE SKIP LOCKED\n"
STATE, OWNER = " AND job.state || '' = 'running'", "job.lease_owner = %(owner)s::uuid AND "
VERSION = " AND job.lease_version = given.version"
CLAIM_LOCK = "        FOR NO KEY UPDATE OF candidate SKIP LOCKED\n    ) AS picked\n    LIMIT"
CANCELLABLE = "WHERE id = %(id)s::bigint AND state IN ('blocked', 'scheduled', 'ready', 'running')"


@dataclass(frozen=True)
class Mutant:
    """One broken guard: the altered texts, an index left out, and the scenarios that must fail with it."""

    what: str
    texts: dict[str, str]
    caught_by: tuple[str, ...]
    without_index: str = ""
    # Scenarios that hold all the same: another guard covers this one there.
    covered_in: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return self.what


def altered(name: str, *changes: tuple[str, str]) -> str:
    """Return the statement with each change made where it applies exactly once."""
    text = statement(name)
    for old, new in changes:
        assert text.count(old) == 1, f"{name}.sql no longer has, once:\n{old}"
        text = text.replace(old, new)
    return text


def without(name: str, *parts: str) -> str:
    """Return the fenced statement without these parts of its fence."""
    fence = FENCE
    for part in parts:
        assert fence.count(part) == 1, part
        fence = fence.replace(part, "")
    return altered(name, (FENCE, fence))


def _fence_mutants(write: str) -> list[Mutant]:
    name = STATEMENTS[write]
    over, again, failover, rescued, locked, between, neighbours = (
        f"{scenario}:{write}"
        for scenario in (
            "late_after_another_took_over",
            "late_after_taking_it_again",
            "late_after_a_failover",
            "late_after_a_rescue",
            "late_while_another_takes_over",
            "late_between_snapshot_and_lock",
            "neighbours_of_a_locked_row",
        )
    )
    return [
        Mutant(f"{name} without the version", {name: without(name, VERSION)}, (again,), covered_in=(over, rescued)),
        Mutant(f"{name} without the owner", {name: without(name, OWNER)}, (failover,), covered_in=(over, rescued)),
        Mutant(
            f"{name} without the state", {name: without(name, STATE)}, (),
            covered_in=(over, again, failover, rescued, between),
        ),
        Mutant(
            f"{name} without owner and state", {name: without(name, STATE, OWNER)},
            (failover,) if write == "end" else (failover, rescued), covered_in=(rescued,) if write == "end" else (),
        ),
        Mutant(f"{name} without owner and version", {name: without(name, OWNER, VERSION)}, (over, again, failover)),
        Mutant(
            f"{name} with its fence in an unlocked CTE", {name: without(name, LOCK)}, (locked, between, neighbours),
            covered_in=(over, again, failover, rescued),
        ),
        Mutant(
            f"{name} that waits for locks", {name: altered(name, (FENCE, FENCE.replace(" SKIP LOCKED", "")))},
            (locked, neighbours), covered_in=(between,),
        ),
    ]  # fmt: skip


LEDGER_KEY, ATTEMPT_KEY = "conveyor_ledger_pkey", "conveyor_attempt_lease"
_ON_CONFLICT = {
    LEDGER_KEY: "    ON CONFLICT (job_id, step) DO NOTHING\n",
    ATTEMPT_KEY: "    ON CONFLICT (job_id, lease_version) DO NOTHING\n",
}
_UNFENCED = without("succeed_jobs", STATE, OWNER, VERSION)
_UNFENCED_STEP = without("record_step", STATE, OWNER, VERSION)
HOLD_LOCK = "\nFOR SHARE"
HELD = (
    "WHERE job.id = %(id)s::bigint AND job.state || '' = 'running'\n"
    "  AND job.lease_owner = %(owner)s::uuid AND job.lease_version = %(version)s::bigint\n"
)


def keyless(text: str, key: str) -> str:
    """Return the statement as it must be where the unique key is dropped."""
    assert text.count(_ON_CONFLICT[key]) == 1
    return text.replace(_ON_CONFLICT[key], "")


MUTANTS: list[Mutant] = [
    *(mutant for write in WRITES for mutant in _fence_mutants(write)),
    Mutant(
        "succeed_jobs without its fence", {"succeed_jobs": _UNFENCED}, ("late_after_another_took_over:succeed",),
        covered_in=("one_effect",),
    ),
    Mutant(
        "succeed_jobs without its fence and the ledger's key", {"succeed_jobs": keyless(_UNFENCED, LEDGER_KEY)},
        ("one_effect",), without_index=LEDGER_KEY,
    ),
    Mutant(
        "succeed_jobs without the version and the ledger's key",
        {"succeed_jobs": keyless(without("succeed_jobs", VERSION), LEDGER_KEY)},
        ("late_after_taking_it_again:succeed",), without_index=LEDGER_KEY,
    ),
    Mutant(
        "record_step without its fence", {"record_step": _UNFENCED_STEP}, ("late_after_another_took_over:record",),
        covered_in=("one_record",),
    ),
    Mutant(
        "record_step without its fence and the ledger's key", {"record_step": keyless(_UNFENCED_STEP, LEDGER_KEY)},
        ("one_record",), without_index=LEDGER_KEY,
    ),
    Mutant(
        "hold_fence without the version",
        {"hold_fence": altered("hold_fence", (" AND job.lease_version = %(version)s::bigint", ""))},
        ("late_after_taking_it_again:hold",), covered_in=("late_after_another_took_over:hold",),
    ),
    Mutant(
        "hold_fence without the owner",
        {"hold_fence": altered("hold_fence", ("job.lease_owner = %(owner)s::uuid AND ", ""))},
        ("late_after_a_failover:hold",), covered_in=("late_after_another_took_over:hold",),
    ),
    Mutant(
        "hold_fence without owner and state",
        {"hold_fence": altered("hold_fence", ("job.lease_owner = %(owner)s::uuid AND ", ""),
                               (" AND job.state || '' = 'running'", ""))},
        ("late_after_a_failover:hold", "late_after_a_rescue:hold"),
    ),
    Mutant(
        "hold_fence without owner and version",
        {"hold_fence": altered("hold_fence", (HELD, "WHERE job.id = %(id)s::bigint AND job.state = 'running'\n"))},
        ("late_after_another_took_over:hold", "late_after_taking_it_again:hold"),
    ),
    Mutant(
        "hold_fence without a lock", {"hold_fence": altered("hold_fence", (HOLD_LOCK, ""))},
        ("fence_meets_an_open_takeover", "fence_keeps_a_rescuer_away"),
    ),
    Mutant(
        "hold_fence with a lock that lets updates pass",
        {"hold_fence": altered("hold_fence", (HOLD_LOCK, "\nFOR KEY SHARE"))},
        ("fence_meets_an_open_takeover", "fence_keeps_a_rescuer_away"),
    ),
    Mutant(
        "hold_fence with its guard in a subquery",
        {"hold_fence": altered("hold_fence", (HELD, f"WHERE job.id = (SELECT id FROM conveyor_job AS job {HELD})\n"))},
        ("fence_meets_an_open_takeover",), covered_in=("fence_keeps_a_rescuer_away",),
    ),
    Mutant(
        "end_attempts without owner, state and the attempts' key",
        {"end_attempts": keyless(without("end_attempts", STATE, OWNER), ATTEMPT_KEY),
         "rescue_jobs": keyless(statement("rescue_jobs"), ATTEMPT_KEY)},
        ("late_after_a_rescue:end",), without_index=ATTEMPT_KEY,
    ),
    Mutant(
        "renew_leases by owner, whatever is named",
        {"renew_leases": altered("renew_leases", ("WHERE id = ANY (ARRAY(SELECT id FROM held))",
                                                  "WHERE lease_owner = %(owner)s::uuid"))},
        ("renewal_names_its_jobs", "late_after_taking_it_again:renew"),
    ),
    Mutant(
        "rescue_jobs that reads without a lock and updates by id",
        {"rescue_jobs": altered("rescue_jobs", ("    FOR NO KEY UPDATE OF job SKIP LOCKED\n", ""))},
        ("rescue_meets_an_open_write:succeed", "rescue_meets_an_open_write:renew",
         "rescue_reads_before_a_write:succeed", "rescue_reads_before_a_write:renew"),
    ),
    Mutant(
        "rescue_jobs that waits for locks",
        {"rescue_jobs": altered("rescue_jobs", (" OF job SKIP LOCKED", " OF job"))},
        ("rescue_meets_an_open_write:succeed", "rescue_meets_an_open_write:renew"),
        covered_in=("rescue_reads_before_a_write:succeed",),
    ),
    Mutant(
        "claim_jobs without a lock",
        {"claim_jobs": altered("claim_jobs", (CLAIM_LOCK, "    ) AS picked\n    LIMIT"))},
        ("claimers_of_one_job", "claimer_reads_before_another_commits"),
    ),
    Mutant(
        "claim_jobs that waits for locks",
        {"claim_jobs": altered("claim_jobs", (CLAIM_LOCK, CLAIM_LOCK.replace(" SKIP LOCKED", "")))},
        ("claimers_of_one_job",), covered_in=("claimer_reads_before_another_commits",),
    ),
    Mutant(
        "cancel_job with its guard in a subquery",
        {"cancel_job": altered("cancel_job", (CANCELLABLE, f"WHERE id = (SELECT id FROM conveyor_job {CANCELLABLE})"))},
        ("cancel_meets_an_open_success",),
    ),
    Mutant(
        "release_unknown that knows jobs by id alone",
        {"release_unknown": altered(
            "release_unknown", ("(job.id, job.lease_version) NOT IN", "job.id NOT IN"),
            ("SELECT id, version FROM", "SELECT id FROM"))},
        ("release_knows_versions",),
    ),
    Mutant(
        "enqueue_jobs in the order given",
        {"enqueue_jobs": altered(
            "enqueue_jobs", ('    ORDER BY queue COLLATE "C", idempotency_key COLLATE "C", place\n', ""))},
        ("bulk_enqueues_in_opposite_order",),
    ),
]  # fmt: skip
