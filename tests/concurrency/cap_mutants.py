"""The statements of exact caps with one guard broken each, and the scenarios of `caps.py` that catch it."""

from __future__ import annotations

from conveyor_django.sql import statement

from .mutants import OWNER, STATE, VERSION, Mutant, altered, without

_LOCK = "            FOR NO KEY UPDATE SKIP LOCKED\n        ) AS place\n"
_COMPARISON = """
              AND permit.job_id = known.job_id AND permit.lease_version = known.lease_version
"""
_HOLDER = """job.state || '' = 'running'
                      AND job.lease_version = permit.lease_version
"""
_WAITING_LOCK = "            FOR NO KEY UPDATE SKIP LOCKED\n        ) AS candidate\n"
_UNLOCKED = (_LOCK, "        ) AS place\n")
_UNCOMPARED = (_COMPARISON, "\n")
_NOT_ENDED = "job.state || '' NOT IN ('succeeded', 'failed', 'cancelled')\n"

_UNDER_A_LOOK = ("key_is_taken_under_a_look", "cap_is_taken_under_a_look")
_OPEN = ("key_meets_an_open_claim", "cap_meets_an_open_claim")

CAP_MUTANTS: list[Mutant] = [
    Mutant(
        "claim_jobs that takes a permit by its id", {"claim_jobs": altered("claim_jobs", _UNCOMPARED)},
        (*_UNDER_A_LOOK, "lowered_cap_under_a_look"), covered_in=_OPEN,
    ),
    Mutant(
        "claim_jobs that compares permits without a lock", {"claim_jobs": altered("claim_jobs", _UNLOCKED)},
        (*_UNDER_A_LOOK, *_OPEN, "prune_under_a_look"),
    ),
    Mutant(
        "claim_jobs that counts permits", {"claim_jobs": altered("claim_jobs", _UNCOMPARED, _UNLOCKED)},
        (*_UNDER_A_LOOK, *_OPEN),
    ),
    Mutant(
        "claim_jobs that waits for permits",
        {"claim_jobs": altered("claim_jobs", (_LOCK, _LOCK.replace(" SKIP LOCKED", "")))}, _OPEN,
        covered_in=_UNDER_A_LOOK,
    ),
    Mutant(
        "claim_jobs that tries every free permit",
        {"claim_jobs": altered("claim_jobs", (" AND known.nth <= demand.cap - known.held", ""))},
        ("lowered_cap_under_a_look",), covered_in=_UNDER_A_LOOK,
    ),
    Mutant(
        "claim_jobs that thinks a permit held until its job has ended",
        {"claim_jobs": altered("claim_jobs", (_HOLDER, _NOT_ENDED))}, ("rescue_frees_the_permit",),
    ),
    Mutant(
        "claim_jobs that takes parked jobs without a lock",
        {"claim_jobs": altered("claim_jobs", (_WAITING_LOCK, "        ) AS candidate\n"))},
        ("two_turns_of_a_parked_job",),
    ),
    Mutant(
        "succeed_jobs without its fence",
        {"succeed_jobs": without("succeed_jobs", STATE, OWNER, VERSION)},
        ("late_outcome_frees_no_other_permit",),
    ),
    Mutant(
        "unpark_jobs that thinks every permit held",
        {"unpark_jobs": altered("unpark_jobs", ("SELECT count(run.id)", "SELECT count(*)"))},
        ("end_of_a_run_under_a_look_that_parks",),
    ),
    Mutant(
        "unpark_jobs that waits for locks",
        {"unpark_jobs": statement("unpark_jobs").replace(" SKIP LOCKED", "")}, ("locked_head_of_a_key",),
    ),
    Mutant(
        "prune_permits by id alone",
        {"prune_permits": altered(
            "prune_permits",
            (" AND permit.job_id = known.job_id AND permit.lease_version = known.lease_version", ""))},
        ("prune_meets_a_claim",),
    ),
    Mutant(
        "make_permits in the order given",
        {"make_permits": altered("make_permits", ("ORDER BY given.queue, given.key, place.number\n", ""))},
        ("makers_of_one_key",),
    ),
]  # fmt: skip
