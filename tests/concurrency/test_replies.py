"""A reply is lost after its commit: what the worker asks again, and what it gives back (rules 2 and 4)."""

from __future__ import annotations

from typing import Any

import pytest

from conveyor_django.managers.exchange import claim_params, end_params, succeed_params
from conveyor_django.outcomes import Answer, Cancel, Claimed, Ended, Fail, Release, Retry, Snooze, Succeed
from conveyor_django.sql import statement

from ..support.connections import commit_and_hang_up
from ..support.factories import ERROR
from ..support.races import KEEP, MAX_RELEASES, A, B, Race
from ..support.waits import wait_until

WON, WON_BEFORE, LOST = Answer.WON, Answer.WON_BEFORE, Answer.LOST
KINDS = (Retry, Snooze, Fail, Cancel, Release)


def lose_reply(race: Race, name: str, params: dict[str, Any], job_id: int, left: str) -> None:
    """Run a statement that commits while its client hangs up; return once the job has left the state `left`."""
    commit_and_hang_up(race.connect(), statement(name), params)
    wait_until(lambda: race.job(job_id).state != left, f"{name} has committed")


def lose_ending(race: Race, run: Claimed, kind: type[Ended]) -> None:
    """Report an ending whose reply is lost."""
    outcome = kind(id=run.id, version=run.version, error=ERROR)
    lose_reply(race, "end_attempts", end_params([outcome], A, KEEP, MAX_RELEASES), run.id, "running")


def test_of_a_claim_the_job_goes_back_free(race: Race) -> None:
    [known] = race.enqueue_and_claim(A)
    [job] = race.enqueue()
    lose_reply(race, "claim_jobs", claim_params(A, {"default": 30.0}, 1), job, "ready")
    released = race.jobs.release_unknown(owner=A, known=[known.token], max_releases=100, on=race.main)
    assert released == [(job, "default", "ready")]
    seen = race.job(job)
    assert (seen.state, seen.attempt, seen.version) == ("ready", 0, 1)
    assert race.attempts(job) == [("release", 1)]
    # The one it knows it still holds, and the one given back is anybody's.
    assert race.succeed(A, known) == [WON]
    assert race.succeed(B, race.claim_one(B)) == [WON]


def test_of_a_success_it_was_won_before(race: Race) -> None:
    [run] = race.enqueue_and_claim(A)
    outcome = Succeed(id=run.id, version=run.version, result="1")
    lose_reply(race, "succeed_jobs", succeed_params([outcome], A), run.id, "running")
    assert race.succeed(A, run) == [WON_BEFORE]
    assert race.effects(run.id) == [(A, 1)]
    # A handler that was thought to have failed has not.
    assert race.end(A, run) == [WON_BEFORE]
    assert race.renew(A, run) == [LOST]


@pytest.mark.parametrize("kind", KINDS)
def test_of_an_ending_it_was_won_before(race: Race, kind: type[Ended]) -> None:
    [run] = race.enqueue_and_claim(A)
    lose_ending(race, run, kind)
    before = race.job(run.id)
    assert race.end(A, run, kind=kind) == [WON_BEFORE]
    assert race.job(run.id) == before
    assert race.attempts(run.id) == [(kind.verb, 1)]


@pytest.mark.parametrize("kind", [Retry, Release])
def test_of_an_ending_though_another_runs_the_job_by_now(race: Race, kind: type[Ended]) -> None:
    [run] = race.enqueue_and_claim(A)
    lose_ending(race, run, kind)
    theirs = race.claim_one(B)
    assert race.end(A, run, kind=kind) == [WON_BEFORE]
    assert race.succeed(B, theirs) == [WON]
    assert race.end(A, run, kind=kind) == [WON_BEFORE]


def test_an_ending_that_never_arrived_is_simply_won(race: Race) -> None:
    [run] = race.enqueue_and_claim(A)
    with race.lost_transaction() as cut_off:
        assert race.succeed(A, run, on=cut_off) == [WON]
    assert race.succeed(A, run) == [WON]
