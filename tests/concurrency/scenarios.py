"""What must hold whoever comes first, told once for the statements as they are and for broken ones.

Each scenario takes a `Race` and raises AssertionError where a promise is broken. `test_scenarios.py` runs all of them
with the original statements; `mutants.py` names for each mutant the scenarios that catch it. Those of late writes are
in `late.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import psycopg

from conveyor_django.managers.jobs import NewJob
from conveyor_django.outcomes import Answer

from ..support.factories import new_job
from ..support.races import A, B, Race
from . import caps
from .late import (
    FENCED,
    WRITES,
    assert_untouched,
    late_after_a_failover,
    late_after_a_rescue,
    late_after_another_took_over,
    late_after_taking_it_again,
    late_between_snapshot_and_lock,
    late_while_another_takes_over,
    neighbours_of_a_locked_row,
    write,
)

WON, LOST = Answer.WON, Answer.LOST

Scenario = Callable[[Race], None]


# -- the ledger's own lock --------------------------------------------------------------------------


def one_effect(race: Race) -> None:
    """Whoever gets through the fence: one effect in the ledger, and no two winners."""
    [mine] = race.enqueue_and_claim(A)
    theirs = race.take_over(B)
    answers = race.succeed(A, mine) + race.succeed(B, theirs)
    assert len(race.effects(mine.id)) == 1
    # None, where it was not by the fence that the loser lost: its token is not the one that the row had.
    assert answers.count(WON) <= 1


def one_record(race: Race) -> None:
    """Whoever gets through the fence: one record of a step in the ledger, one winner."""
    [mine] = race.enqueue_and_claim(A)
    theirs = race.take_over(B)
    answers = race.record(A, mine) + race.record(B, theirs)
    assert len(race.effects(mine.id)) == 1
    assert answers.count(WON) == 1


# -- the fence in a handler's own transaction -------------------------------------------------------


def fence_meets_an_open_takeover(race: Race) -> None:
    """B's take-over has locked the row when A asks: A waits, and must read what the take-over left there."""
    [mine] = race.enqueue_and_claim(A)
    late = race.connect()
    with race.transaction() as takeover:
        theirs = race.take_over(B, on=takeover)
        running = race.sides.start(late, race.hold, A, mine)
        assert running.settle()
    assert running.result() == [LOST]
    assert_untouched(race, theirs, B)


def fence_keeps_a_rescuer_away(race: Race) -> None:
    """A's transaction holds the fence, its lease lapsed: nobody takes the job before it ends, and nobody waits."""
    [mine] = race.enqueue_and_claim(A)
    rescuer = race.connect()
    with race.transaction() as fenced:
        assert race.hold(A, mine, on=fenced) == [WON]
        running = race.sides.start(rescuer, race.rescue)
        blocked = running.settle()
    assert running.result() == []
    assert not blocked
    assert [rescued.id for rescued in race.rescue()] == [mine.id]


# -- renewal ----------------------------------------------------------------------------------------


def renewal_names_its_jobs(race: Race) -> None:
    """A job that its holder does not name lapses (rule 4)."""
    named, forgotten = race.enqueue_and_claim(A, 2)
    lease = race.job(forgotten.id).expires_at
    assert race.renew(A, named) == [WON]
    assert race.job(forgotten.id).expires_at == lease


# -- rescue -----------------------------------------------------------------------------------------


def rescue_meets_an_open_write(race: Race, name: str) -> None:
    """A's success or renewal is not yet committed when the rescuer comes: it neither waits nor takes the job."""
    [mine] = race.enqueue_and_claim(A)
    rescuer = race.connect()
    with race.transaction() as finisher:
        assert write(race, name)(A, mine, on=finisher) == [WON]
        running = race.sides.start(rescuer, race.rescue)
        blocked = running.settle()
    assert running.result() == []
    assert not blocked
    assert race.job(mine.id).state == {"succeed": "succeeded", "renew": "running"}[name]
    assert race.job(mine.id).version == mine.version
    assert race.attempts(mine.id) == []


def rescue_reads_before_a_write(race: Race, name: str) -> None:
    """A's success or renewal commits after the rescuer has read and before it locks: the re-check must see it."""
    [mine] = race.enqueue_and_claim(A)
    rescuer = race.connect()
    with race.gate("rescue_jobs") as held_up:
        running = race.sides.start(rescuer, held_up.rescue)
        running.wait_until_blocked()
        assert write(race, name)(A, mine) == [WON]
    assert running.result() == []
    assert race.job(mine.id).state == {"succeed": "succeeded", "renew": "running"}[name]
    assert race.attempts(mine.id) == []


# -- claim ------------------------------------------------------------------------------------------


def claimers_of_one_job(race: Race) -> None:
    """B looks while A's claim is not yet committed: B goes on without waiting and without that job."""
    race.enqueue()
    second = race.connect()
    with race.transaction() as first:
        mine = race.claim_one(A, on=first)
        running = race.sides.start(second, race.claim, B)
        blocked = running.settle()
    assert running.result() == []
    assert not blocked
    assert_untouched(race, mine, A)


def claimer_reads_before_another_commits(race: Race) -> None:
    """A's claim commits after B has read and before B locks: B must not get the job again."""
    race.enqueue()
    second = race.connect()
    with race.gate("claim_jobs") as held_up:
        running = race.sides.start(second, held_up.claim, B)
        running.wait_until_blocked()
        mine = race.claim_one(A)
    assert running.result() == []
    assert_untouched(race, mine, A)


# -- cancel -----------------------------------------------------------------------------------------


def cancel_meets_an_open_success(race: Race) -> None:
    """A cancel waits for the row and must read what the success left there."""
    [mine] = race.enqueue_and_claim(A)
    canceller = race.connect()
    with race.transaction() as finisher:
        assert race.succeed(A, mine, on=finisher) == [WON]
        running = race.sides.start(canceller, race.jobs.cancel_job, mine.id)
        running.wait_until_blocked()
    assert running.result() is None
    seen = race.job(mine.id)
    assert (seen.state, seen.cancel_requested) == ("succeeded", False)


# -- release ----------------------------------------------------------------------------------------


def release_knows_versions(race: Race) -> None:
    """What the worker knows of an old run does not keep a new one, whose claim's reply was lost (rule 4)."""
    [old] = race.enqueue_and_claim(A)
    new = race.take_over(A)
    released = race.jobs.release_unknown(owner=A, known=[old.token], max_releases=100, on=race.main)
    assert released == [(new.id, "default", "ready")]


# -- enqueue ----------------------------------------------------------------------------------------


def keyed(keys: str) -> list[NewJob]:
    """Return a job for each letter, with that key."""
    return [new_job(idempotency_key=key) for key in keys]


def bulk_enqueues_in_opposite_order(race: Race) -> None:
    """Two bulk enqueues of the same keys in opposite order both end, without a deadlock (rule 9)."""
    first, second = race.connect(), race.connect()
    with race.lost_transaction() as somebody:
        race.jobs.enqueue_jobs(keyed("m"), on=somebody)
        # Both have to pass m, each with what it took before.
        forth = race.sides.start(first, race.jobs.enqueue_jobs, keyed("amz"))
        forth.wait_until_blocked()
        back = race.sides.start(second, race.jobs.enqueue_jobs, keyed("zma"))
        back.wait_until_blocked()
    try:
        accepted = [forth.result(), back.result()]
    except psycopg.errors.DeadlockDetected as error:
        raise AssertionError("two bulk enqueues met in a deadlock") from error
    assert [entry is None for entry in accepted[0]] == [False, False, False]
    assert accepted[1] == [None, None, None]


def _for_each(scenario: Callable[[Race, str], None], names: tuple[str, ...]) -> dict[str, Scenario]:
    return {f"{scenario.__name__}:{name}": partial(scenario, name=name) for name in names}


SCENARIOS: dict[str, Scenario] = {
    **caps.SCENARIOS,
    **_for_each(late_after_another_took_over, FENCED),
    **_for_each(late_after_taking_it_again, FENCED),
    **_for_each(late_after_a_failover, FENCED),
    **_for_each(late_after_a_rescue, FENCED),
    **_for_each(late_while_another_takes_over, WRITES),
    **_for_each(late_between_snapshot_and_lock, WRITES),
    **_for_each(neighbours_of_a_locked_row, WRITES),
    **_for_each(rescue_meets_an_open_write, ("succeed", "renew")),
    **_for_each(rescue_reads_before_a_write, ("succeed", "renew")),
    **{
        scenario.__name__: scenario
        for scenario in (
            one_effect,
            one_record,
            fence_meets_an_open_takeover,
            fence_keeps_a_rescuer_away,
            renewal_names_its_jobs,
            claimers_of_one_job,
            claimer_reads_before_another_commits,
            cancel_meets_an_open_success,
            release_knows_versions,
            bulk_enqueues_in_opposite_order,
        )
    },
}
