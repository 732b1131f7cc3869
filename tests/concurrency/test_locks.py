"""Two sides on one row: who waits, who goes on, and what the one that came second finds."""

from __future__ import annotations

import uuid
from functools import partial

import pytest

from conveyor_django.db import Connection
from conveyor_django.outcomes import Answer, Cancel, Ended, Fail, Release, Retry, Snooze

from ..support.barriers import at_once
from ..support.factories import in_seconds, new_job
from ..support.races import A, B, Race

WON, WON_BEFORE, BUSY, LOST = Answer.WON, Answer.WON_BEFORE, Answer.BUSY, Answer.LOST


# -- rescue against outcome: the outcome comes second (first: scenarios.rescue_meets_an_open_write) -


def test_an_outcome_meets_an_open_rescue(race: Race) -> None:
    [mine] = race.enqueue_and_claim(A)
    with race.transaction() as rescuer:
        assert len(race.rescue(on=rescuer)) == 1
        assert race.succeed(A, mine) == [BUSY]
        assert race.end(A, mine) == [BUSY]
        assert race.renew(A, mine) == [BUSY]
    assert (race.succeed(A, mine), race.end(A, mine), race.renew(A, mine)) == ([LOST], [LOST], [LOST])
    assert race.job(mine.id).state == "ready"
    assert race.effects(mine.id) == []


def test_an_outcome_meets_a_rescue_that_rolls_back(race: Race) -> None:
    [mine] = race.enqueue_and_claim(A)
    with race.lost_transaction() as rescuer:
        race.rescue(on=rescuer)
        assert race.succeed(A, mine) == [BUSY]
    assert race.succeed(A, mine) == [WON]


def test_a_renewed_lease_is_not_rescued(race: Race) -> None:
    [mine] = race.enqueue_and_claim(A)
    assert race.renew(A, mine) == [WON]
    assert race.rescue() == []


def test_what_is_locked_stays_with_a_dead_owner_until_the_next_look(race: Race) -> None:
    done, left = race.enqueue_and_claim(A, 2)
    taker = race.connect()
    bounds = {"max_releases": 100, "on": taker}
    with race.transaction() as finisher:
        assert race.succeed(A, done, on=finisher) == [WON]
        assert race.jobs.release_unknown(owner=A, known=[left.token], **bounds) == []
        rescued = race.jobs.rescue_owner(owner=A, max_lost=3, reason="killed", **bounds)
        assert [job.id for job in rescued] == [left.id]
        assert race.jobs.count_held(owner=A, on=taker) == 1
    assert race.jobs.count_held(owner=A, on=taker) == 0
    assert (race.job(done.id).state, race.job(left.id).state) == ("succeeded", "ready")


def test_one_rescuer_looks_at_a_time(race: Race) -> None:
    race.enqueue_and_claim(A)
    with race.lost_transaction() as first:
        assert len(race.rescue(on=first)) == 1
        # Its lock is the transaction's own; nothing that a frozen process could keep.
        assert race.rescue() == []
    assert len(race.rescue()) == 1


@pytest.mark.parametrize("duty", ["promote", "prune"])
def test_one_scheduler_looks_at_a_time(race: Race, duty: str) -> None:
    if duty == "promote":
        race.jobs.enqueue_job(new_job(run_at=in_seconds(60)), on=race.main)
    else:
        race.succeed(A, *race.enqueue_and_claim(A))

    def look(on: Connection) -> int:
        if duty == "promote":
            return len(race.jobs.promote_jobs(limit=10, now=in_seconds(120), on=on))
        return race.jobs.prune_jobs(limit=10, retention=0, failed_retention=0, now=in_seconds(1), on=on)

    with race.lost_transaction() as first:
        assert look(first) == 1
        assert look(race.main) == 0
    assert look(race.main) == 1


# -- cancel against outcome -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "state", "answer"),
    [
        (Retry, "cancelled", "cancelled"),
        (Snooze, "cancelled", "cancelled"),
        (Release, "cancelled", "cancelled"),
        (Fail, "failed", None),
        (Cancel, "cancelled", None),
    ],
)
def test_a_cancel_waits_for_an_open_ending_and_takes_what_it_left(
    race: Race, kind: type[Ended], state: str, answer: str | None
) -> None:
    [mine] = race.enqueue_and_claim(A)
    canceller = race.connect()
    with race.transaction() as finisher:
        assert race.end(A, mine, kind=kind, on=finisher) == [WON]
        running = race.sides.start(canceller, race.jobs.cancel_job, mine.id)
        running.wait_until_blocked()
    assert running.result() == answer
    assert race.job(mine.id).state == state


def test_a_cancel_waits_for_an_open_claim_and_becomes_a_request(race: Race) -> None:
    [job] = race.enqueue()
    canceller = race.connect()
    with race.transaction() as claimer:
        race.claim_one(A, on=claimer)
        running = race.sides.start(canceller, race.jobs.cancel_job, job)
        running.wait_until_blocked()
    assert running.result() == "running"
    assert race.job(job).cancel_requested


def test_an_outcome_meets_an_open_cancel_request(race: Race) -> None:
    done, again = race.enqueue_and_claim(A, 2)
    with race.transaction() as canceller:
        for run in (done, again):
            assert race.jobs.cancel_job(run.id, on=canceller) == "running"
        assert race.succeed(A, done) == [BUSY]
        assert race.end(A, again) == [BUSY]
    assert (race.succeed(A, done), race.end(A, again)) == ([WON], [WON])
    assert (race.job(done.id).state, race.job(again.id).state) == ("succeeded", "cancelled")


def test_a_claim_leaves_a_job_that_is_being_cancelled(race: Race) -> None:
    first, second = race.enqueue(2)
    with race.transaction() as canceller:
        assert race.jobs.cancel_job(first, on=canceller) == "cancelled"
        assert [run.id for run in race.claim(B, 2)] == [second]


@pytest.mark.parametrize("kept", [True, False], ids=["promoted", "rolled back"])
def test_run_now_waits_for_a_promotion_and_takes_what_it_left(race: Race, kept: bool) -> None:
    accepted = race.jobs.enqueue_job(new_job(run_at=in_seconds(60)), on=race.main)
    assert accepted is not None
    caller = race.connect()
    with race.transaction() if kept else race.lost_transaction() as promoter:
        assert race.jobs.promote_jobs(limit=10, now=in_seconds(120), on=promoter)
        running = race.sides.start(caller, race.jobs.run_job_now, accepted.id)
        running.wait_until_blocked()
    assert running.result() == (None if kept else "default")
    assert race.job(accepted.id).state == "ready"


def test_a_requeue_leaves_a_locked_job(race: Race) -> None:
    runs = race.enqueue_and_claim(A, 2)
    race.end(A, *runs, kind=Fail)
    with race.transaction() as somebody:
        somebody.execute("SELECT FROM conveyor_job WHERE id = %s FOR UPDATE", (runs[0].id,))
        assert set(race.jobs.requeue_jobs([run.id for run in runs], on=race.main)) == {runs[1].id}


# -- batches against each other ---------------------------------------------------------------------


def test_a_renewal_meets_the_open_outcomes_of_the_same_batch(race: Race) -> None:
    runs = race.enqueue_and_claim(A, 5)
    with race.transaction() as finisher:
        assert race.succeed(A, *runs[:3], on=finisher) == [WON] * 3
        assert race.renew(A, *reversed(runs)) == [WON, WON, BUSY, BUSY, BUSY]
    assert race.renew(A, *runs) == [LOST, LOST, LOST, WON, WON]


def test_an_outcome_and_a_renewal_of_the_same_batch_at_once(race: Race) -> None:
    finisher, heart = race.connect(), race.connect()
    for _ in range(20):
        runs = race.enqueue_and_claim(A, 30)
        ended, renewed = at_once(
            partial(race.succeed, A, *runs, on=finisher), partial(race.renew, A, *reversed(runs), on=heart)
        )
        assert set(ended) <= {WON, BUSY}
        assert set(renewed) <= {WON, BUSY, LOST}
        race.succeed(A, *runs)
        assert {race.job(run.id).state for run in runs} == {"succeeded"}
        assert all(len(race.effects(run.id)) == 1 for run in runs)


def test_many_claimers_at_once_share_the_jobs(race: Race) -> None:
    race.enqueue(200)
    connections = [race.connect() for _ in range(4)]

    def claim_all(number: int) -> list[int]:
        mine: list[int] = []
        while claimed := race.claim(uuid.UUID(int=number), 7, on=connections[number]):
            mine += [run.id for run in claimed]
        return mine

    shares = at_once(*(partial(claim_all, number) for number in range(4)))
    claimed = [job for share in shares for job in share]
    assert len(claimed) == len(set(claimed))
    # A claimer that met nothing but locked rows gave up early; what is left is left whole.
    left = len(race.claim(A, 200))
    assert len(claimed) + left == 200
