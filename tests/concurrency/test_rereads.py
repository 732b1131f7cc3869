"""A row that changes between a statement's snapshot and its lock is read again, amid neighbours that did not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conveyor_django.outcomes import Cancel, Ended, Fail, Release, Retry, Snooze

from ..support.factories import in_seconds, new_job
from ..support.races import A, Race


def rescue_owner(race: Race, on: Any) -> Any:
    """Take back what A holds, all of it lost."""
    return race.jobs.rescue_owner(owner=A, max_lost=3, max_releases=100, reason="killed", on=on)


def release_unknown(race: Race, on: Any) -> Any:
    """Give back what A holds, all of it unknown."""
    return race.jobs.release_unknown(owner=A, known=[], max_releases=100, on=on)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("rescue_jobs", Race.rescue),
        ("rescue_owner", rescue_owner),
        ("release_unknown", release_unknown),
    ],
)
def test_a_cancel_request_is_seen_by_what_takes_jobs_back(race: Race, name: str, call: Callable[..., Any]) -> None:
    runs = race.enqueue_and_claim(A, 3)
    taker = race.connect()
    with race.gate(name) as held_up:
        running = race.sides.start(taker, call, held_up)
        running.wait_until_blocked()
        assert race.jobs.cancel_job(runs[1].id, on=race.main) == "running"
    assert len(running.result()) == 3
    assert [race.job(run.id).state for run in runs] == ["ready", "cancelled", "ready"]
    assert all(race.attempts(run.id) for run in runs)


@pytest.mark.parametrize("kind", [Retry, Snooze, Fail, Cancel, Release])
def test_a_cancel_request_is_seen_by_every_ending(race: Race, kind: type[Ended]) -> None:
    runs = race.enqueue_and_claim(A, 3)
    finisher = race.connect()
    with race.gate("end_attempts") as held_up:
        running = race.sides.start(finisher, held_up.end, A, *runs, kind=kind)
        running.wait_until_blocked()
        assert race.jobs.cancel_job(runs[1].id, on=race.main) == "running"
    assert running.result() == ["won", "won", "won"]
    assert race.job(runs[1].id).state == "cancelled"
    other = {Fail: "failed", Cancel: "cancelled"}.get(kind, "ready")
    assert race.job(runs[0].id).state == race.job(runs[2].id).state == other


def test_a_success_wins_over_a_cancel_request_that_comes_meanwhile(race: Race) -> None:
    runs = race.enqueue_and_claim(A, 3)
    finisher = race.connect()
    with race.gate("succeed_jobs") as held_up:
        running = race.sides.start(finisher, held_up.succeed, A, *runs)
        running.wait_until_blocked()
        race.jobs.cancel_job(runs[1].id, on=race.main)
    assert running.result() == ["won", "won", "won"]
    assert {race.job(run.id).state for run in runs} == {"succeeded"}


def test_a_renewal_passes_on_a_cancel_request_that_comes_meanwhile(race: Race) -> None:
    runs = race.enqueue_and_claim(A, 2)
    heart = race.connect()
    leases = {run.token: 7200.0 for run in runs}
    with race.gate("renew_leases") as held_up:
        running = race.sides.start(heart, held_up.jobs.renew_leases, leases, owner=A)
        running.wait_until_blocked()
        race.jobs.cancel_job(runs[1].id, on=race.main)
    assert running.result() == {runs[0].token: ("won", False), runs[1].token: ("won", True)}


def test_a_promotion_leaves_a_job_that_is_cancelled_meanwhile(race: Race) -> None:
    jobs = [
        accepted.id
        for accepted in race.jobs.enqueue_jobs([new_job(run_at=in_seconds(60))] * 2, on=race.main)
        if accepted is not None
    ]
    scheduler = race.connect()
    with race.gate("promote_jobs") as held_up:
        running = race.sides.start(scheduler, held_up.jobs.promote_jobs, limit=10, now=in_seconds(120))
        running.wait_until_blocked()
        assert race.jobs.cancel_job(jobs[0], on=race.main) == "cancelled"
    assert running.result() == {"default": 1}
    assert [race.job(job).state for job in jobs] == ["cancelled", "ready"]


def test_pruning_leaves_a_job_that_is_requeued_meanwhile(race: Race) -> None:
    runs = race.enqueue_and_claim(A, 2)
    race.end(A, *runs, kind=Fail)
    pruner = race.connect()
    with race.gate("prune_jobs") as held_up:
        running = race.sides.start(
            pruner, held_up.jobs.prune_jobs, limit=10, retention=0, failed_retention=0, now=in_seconds(1)
        )
        running.wait_until_blocked()
        race.jobs.requeue_jobs([runs[0].id], on=race.main)
    assert running.result() == 1
    assert race.job(runs[0].id).state == "ready"
    # What belongs to it is still there.
    assert race.attempts(runs[0].id) == [("fail", 1)]
    assert race.attempts(runs[1].id) == []
