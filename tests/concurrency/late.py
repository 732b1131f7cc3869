"""Scenarios of the fence: a worker's write comes late, by the name of its method of `Race`."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from conveyor_django.outcomes import Answer, Claimed

from ..support.races import A, B, Race

WON, WON_BEFORE, BUSY, LOST = Answer.WON, Answer.WON_BEFORE, Answer.BUSY, Answer.LOST

# A fenced write of one worker, by its method of Race, and its statement.
STATEMENTS = {"succeed": "succeed_jobs", "end": "end_attempts", "renew": "renew_leases", "record": "record_step"}
WRITES = tuple(STATEMENTS)
# And what only looks, which waits for a locked row.
FENCED = (*WRITES, "hold")


def write(race: Race, name: str) -> Callable[..., list[Answer]]:
    """Return the method of Race by its name."""
    method: Callable[..., list[Answer]] = getattr(race, name)
    return method


def assert_untouched(race: Race, run: Claimed, owner: uuid.UUID) -> None:
    """Fail unless the job still is what its holder's claim made of it, and nothing has committed."""
    seen = race.job(run.id)
    assert (seen.state, seen.owner, seen.version) == ("running", owner, run.version)
    assert race.effects(run.id) == []
    # Neither a renewal nor an ending: the holder's own outcome still counts, once.
    assert race.succeed(owner, run) == [WON]
    assert race.effects(run.id) == [(owner, run.version)]


# -- late, with nothing in the way ------------------------------------------------------------------


def late_after_another_took_over(race: Race, name: str) -> None:
    """A's lease lapses, B runs the job; A's write changes nothing. Version and owner each would do."""
    [mine] = race.enqueue_and_claim(A)
    theirs = race.take_over(B)
    lease = race.job(mine.id).expires_at
    assert write(race, name)(A, mine) == [LOST]
    assert race.job(mine.id).expires_at == lease
    assert_untouched(race, theirs, B)


def late_after_taking_it_again(race: Race, name: str) -> None:
    """A's lease lapses and A itself runs the job again; its old thread's write changes nothing: the version."""
    [old] = race.enqueue_and_claim(A)
    new = race.take_over(A)
    lease = race.job(old.id).expires_at
    assert write(race, name)(A, old) == [LOST]
    assert race.job(old.id).expires_at == lease
    assert_untouched(race, new, A)


def late_after_a_failover(race: Race, name: str) -> None:
    """A's claim is lost in a failover and B gets the same version; A's write changes nothing: the owner."""
    race.enqueue()
    with race.lost_transaction() as lost:
        mine = race.claim_one(A, on=lost)
    theirs = race.claim_one(B)
    assert theirs.version == mine.version
    lease = race.job(mine.id).expires_at
    assert write(race, name)(A, mine) == [LOST]
    assert race.job(mine.id).expires_at == lease
    assert_untouched(race, theirs, B)


def late_after_a_rescue(race: Race, name: str) -> None:
    """A's lease lapses and nobody runs the job yet; A's write changes nothing: the state, or the owner that went."""
    [mine] = race.enqueue_and_claim(A)
    race.rescue()
    assert write(race, name)(A, mine) == [LOST]
    seen = race.job(mine.id)
    assert (seen.state, seen.owner, seen.expires_at) == ("ready", None, None)
    assert race.effects(mine.id) == []


# -- late, with the row locked or changing under the statement --------------------------------------


def late_while_another_takes_over(race: Race, name: str) -> None:
    """B's take-over has locked the row when A's write arrives: A neither waits nor wins."""
    [mine] = race.enqueue_and_claim(A)
    late = race.connect()
    with race.transaction() as takeover:
        theirs = race.take_over(B, on=takeover)
        running = race.sides.start(late, write(race, name), A, mine)
        blocked = running.settle()
    assert running.result() == [BUSY]
    assert not blocked
    assert write(race, name)(A, mine) == [LOST]
    assert_untouched(race, theirs, B)


def late_between_snapshot_and_lock(race: Race, name: str) -> None:
    """B takes over after A's statement has read and before it locks: the lock's re-read must see it."""
    [mine] = race.enqueue_and_claim(A)
    late = race.connect()
    with race.gate(STATEMENTS[name]) as held_up:
        running = race.sides.start(late, write(held_up, name), A, mine)
        running.wait_until_blocked()
        theirs = race.take_over(B)
        lease = race.job(mine.id).expires_at
    # By its snapshot the job is still A's.
    assert running.result() == [BUSY]
    assert write(race, name)(A, mine) == [LOST]
    assert race.job(mine.id).expires_at == lease
    assert_untouched(race, theirs, B)


def neighbours_of_a_locked_row(race: Race, name: str) -> None:
    """Somebody has locked one row of a batch: its neighbours win, it is busy, and nobody waits (rule 2)."""
    runs = race.enqueue_and_claim(A, 3)
    finisher = race.connect()
    with race.transaction() as somebody:
        somebody.execute("SELECT FROM conveyor_job WHERE id = %s FOR UPDATE", (runs[1].id,))
        running = race.sides.start(finisher, write(race, name), A, *runs)
        blocked = running.settle()
    assert running.result() == [WON, BUSY, WON]
    assert not blocked
    assert write(race, name)(A, runs[1]) == [WON]
