"""Scenarios of exact caps: two claims at once, and what the end of a run has to do with them."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import psycopg

from conveyor_django.db import Connection
from conveyor_django.managers.exchange import Claim
from conveyor_django.outcomes import Answer

from ..support.factories import in_seconds, new_job
from ..support.races import A, B, Race

QUEUES = {"default": 30.0}
KEY = ("default", "k")


def enqueue(race: Race, jobs: int, key: str | None = "k") -> list[int]:
    """Enqueue jobs of one key; return their ids."""
    accepted = race.jobs.enqueue_jobs([new_job(concurrency_key=key) for _ in range(jobs)], on=race.main)
    return [entry.id for entry in accepted if entry is not None]


def set_cap(race: Race, column: str, cap: int) -> None:
    """Give the queue a cap, and its places."""
    race.main.execute(
        f"INSERT INTO conveyor_queue (name, paused, {column}) VALUES ('default', false, %(cap)s) "
        f"ON CONFLICT (name) DO UPDATE SET {column} = excluded.{column}",
        {"cap": cap},
    )
    make(race, "" if column == "exact_cap" else "k", cap)


def make(race: Race, key: str, cap: int) -> None:
    """Make the places of a cap."""
    race.jobs.make_permits([("default", key, cap)], on=race.main)


def look(race: Race, owner: uuid.UUID, limit: int = 10, *, on: Connection | None = None) -> Claim:
    """Claim by the whole statement."""
    return race.jobs.claim(owner=owner, queues=QUEUES, limit=limit, on=on or race.main)


def running(race: Race) -> int:
    """Return how many jobs run."""
    row = race.main.execute("SELECT count(*) FROM conveyor_job WHERE state = 'running'").fetchone()
    assert row is not None
    return int(row[0])


def taken(*claims: Claim) -> int:
    """Return how many jobs these claims brought."""
    return sum(len(claim.jobs) for claim in claims)


def parked(race: Race) -> set[int]:
    """Return the ids of parked jobs."""
    return {row[0] for row in race.main.execute("SELECT id FROM conveyor_job WHERE parked IS NOT NULL").fetchall()}


# -- two claims at once -----------------------------------------------------------------------------


def _a_claim_meets_an_open_one(race: Race, cap: int) -> None:
    second = race.connect()
    with race.transaction() as first:
        assert taken(look(race, A, 1, on=first)) == 1
        side = race.sides.start(second, look, race, B)
        blocked = side.settle()
    assert not blocked
    assert taken(side.result()) == cap - 1
    assert running(race) == cap


def key_meets_an_open_claim(race: Race) -> None:
    """A's claim of the key is not yet committed when B comes: B neither waits nor takes another job of it."""
    enqueue(race, 3)
    make(race, "k", 1)
    _a_claim_meets_an_open_one(race, 1)


def cap_meets_an_open_claim(race: Race) -> None:
    """The same with the cap of a queue."""
    enqueue(race, 5, None)
    set_cap(race, "exact_cap", 2)
    _a_claim_meets_an_open_one(race, 2)


def _a_claim_commits_under_a_look(race: Race, cap: int) -> None:
    """A's claim commits after B has read and before B locks: what B saw as free is not any more."""
    second = race.connect()
    with race.gate("claim_jobs") as held_up:
        side = race.sides.start(second, look, held_up, B)
        side.wait_until_blocked()
        # No more than it takes: it would park the others.
        assert taken(look(race, A, cap)) == cap
    assert taken(side.result()) == 0
    assert running(race) == cap


def key_is_taken_under_a_look(race: Race) -> None:
    """Of a key."""
    enqueue(race, 3)
    make(race, "k", 1)
    _a_claim_commits_under_a_look(race, 1)


def cap_is_taken_under_a_look(race: Race) -> None:
    """Of a queue."""
    enqueue(race, 5, None)
    set_cap(race, "exact_cap", 2)
    _a_claim_commits_under_a_look(race, 2)


def lowered_cap_under_a_look(race: Race) -> None:
    """Both see one place left below a cap that was lowered, and one run beyond it: one of them gets it."""
    enqueue(race, 9)
    set_cap(race, "key_cap", 4)
    first = look(race, A).jobs
    places = dict(race.main.execute("SELECT job_id, number FROM conveyor_permit").fetchall())
    by_place = sorted(first, key=lambda job: places[job.id])
    race.main.execute("UPDATE conveyor_queue SET key_cap = 3")
    # What is left runs in the highest place below the cap, and beyond it: two are free, one may be taken.
    assert race.succeed(A, *by_place[:2]) == [Answer.WON, Answer.WON]
    race.jobs.unpark_jobs([KEY], on=race.main)
    enqueue(race, 1)
    second = race.connect()
    with race.gate("claim_jobs") as held_up:
        side = race.sides.start(second, look, held_up, B)
        side.wait_until_blocked()
        assert taken(look(race, A, 1)) == 1
    assert taken(side.result()) == 0
    assert running(race) == 3


# -- the end of a run -------------------------------------------------------------------------------


def late_outcome_frees_no_other_permit(race: Race) -> None:
    """A's run was rescued and B has the key: what A says then changes nothing about that."""
    first, _second = enqueue(race, 2)
    make(race, "k", 1)
    [mine] = look(race, A).jobs
    race.rescue()
    # It is behind the other one now, which has its turn.
    race.jobs.unpark_jobs([KEY], on=race.main)
    [theirs] = look(race, B).jobs
    assert (mine.id, theirs.id == first) == (first, False)
    assert race.succeed(A, mine) == [Answer.LOST]
    assert race.end(A, mine) == [Answer.LOST]
    race.jobs.unpark_jobs([KEY], on=race.main)
    assert look(race, A).jobs == []
    assert race.succeed(B, theirs) == [Answer.WON]


def rescue_frees_the_permit(race: Race) -> None:
    """A dead worker's permit comes back with its rescue, whichever job has its turn then."""
    enqueue(race, 2)
    make(race, "k", 1)
    [mine] = look(race, A).jobs
    assert look(race, B).jobs == []
    race.rescue()
    race.jobs.unpark_jobs([KEY], on=race.main)
    theirs = look(race, B).jobs
    assert len(theirs) == running(race) == 1
    assert theirs[0].id != mine.id


def end_of_a_run_under_a_look_that_parks(race: Race) -> None:
    """A's run ends after B has seen its permit as held; A finds nothing parked yet. B puts it back in line."""
    enqueue(race, 2)
    make(race, "k", 1)
    [mine] = look(race, A, 1).jobs
    second = race.connect()
    with race.gate("claim_jobs") as held_up:
        side = race.sides.start(second, look, held_up, B)
        side.wait_until_blocked()
        assert race.succeed(A, mine) == [Answer.WON]
        assert race.jobs.unpark_jobs([KEY], on=race.main) == {}
    assert side.result().parked == [KEY]
    assert len(race.jobs.unpark_jobs([KEY], on=second)) == 1
    assert taken(look(race, B)) == 1


# -- permits that come and go -----------------------------------------------------------------------


def prune_meets_a_claim(race: Race) -> None:
    """A claim takes the permit after the prune has read and before it locks: it stays."""
    enqueue(race, 2)
    make(race, "k", 1)
    pruner = race.connect()
    with race.gate("prune_permits") as held_up:
        side = race.sides.start(pruner, held_up.jobs.prune_permits, limit=10, idle=60.0, now=in_seconds(3600))
        side.wait_until_blocked()
        assert taken(look(race, A, 1)) == 1
    assert side.result() == 0
    make(race, "k", 1)
    assert look(race, B).jobs == []


def prune_under_a_look(race: Race) -> None:
    """The permit is pruned after a claim has read it as free: nothing runs without one, and nothing is lost."""
    [job] = enqueue(race, 1)
    make(race, "k", 1)
    second = race.connect()
    with race.gate("claim_jobs") as held_up:
        side = race.sides.start(second, look, held_up, B)
        side.wait_until_blocked()
        assert race.jobs.prune_permits(limit=10, idle=60.0, now=in_seconds(3600), on=race.main) == 1
    found = side.result()
    assert (found.jobs, parked(race)) == ([], {job})
    race.jobs.unpark_jobs([key for key in found.parked if key[1] is not None], on=race.main)  # type: ignore[misc]
    race.jobs.make_permits(look(race, B).unprovided, on=race.main)
    assert taken(look(race, B)) == 1


def makers_of_one_key(race: Race) -> None:
    """Two make the places of the same caps in opposite order: each place is there once, and nobody meets a deadlock."""
    first, second = race.connect(), race.connect()
    caps = [("default", key, 2) for key in "abc"]
    with race.lost_transaction() as somebody:
        race.jobs.make_permits([("default", "b", 2)], on=somebody)
        sides = [
            race.sides.start(connection, race.jobs.make_permits, order)
            for connection, order in ((first, caps), (second, caps[::-1]))
        ]
        for side in sides:
            side.wait_until_blocked()
    try:
        assert sum(side.result() for side in sides) == 6
    except psycopg.errors.DeadlockDetected as error:
        raise AssertionError("two makers of permits met in a deadlock") from error


def locked_head_of_a_key(race: Race) -> None:
    """Somebody holds the row of the key's next job, for as long as he likes: the others of the key go on."""
    enqueue(race, 3)
    make(race, "k", 1)
    [mine] = look(race, A).jobs
    head, following = sorted(parked(race))
    other = race.connect()
    with race.transaction() as somebody:
        race.jobs.cancel_job(head, on=somebody)
        assert race.succeed(A, mine) == [Answer.WON]
        side = race.sides.start(other, race.jobs.unpark_jobs, [KEY])
        assert not side.settle()
        assert list(side.result()) == [following]
        assert [job.id for job in look(race, B, on=other).jobs] == [following]


def two_turns_of_a_parked_job(race: Race) -> None:
    """A parked job goes back in line and runs after B has read that it is parked and its turn: it runs once."""
    older = enqueue(race, 1)
    set_cap(race, "key_cap", 2)
    race.main.execute("UPDATE conveyor_job SET parked = 'key'")
    newer = enqueue(race, 1)
    second = race.connect()
    with race.gate("claim_jobs") as held_up:
        side = race.sides.start(second, look, held_up, B)
        side.wait_until_blocked()
        assert list(race.jobs.unpark_jobs([KEY], on=race.main)) == older
        assert [job.id for job in look(race, A, 1).jobs] == older
    assert [job.id for job in side.result().jobs] == newer


SCENARIOS: dict[str, Callable[[Race], None]] = {
    scenario.__name__: scenario
    for scenario in (
        key_meets_an_open_claim,
        cap_meets_an_open_claim,
        key_is_taken_under_a_look,
        cap_is_taken_under_a_look,
        lowered_cap_under_a_look,
        late_outcome_frees_no_other_permit,
        rescue_frees_the_permit,
        end_of_a_run_under_a_look_that_parks,
        prune_meets_a_claim,
        prune_under_a_look,
        makers_of_one_key,
        locked_head_of_a_key,
        two_turns_of_a_parked_job,
    )
}
