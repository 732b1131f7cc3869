"""Enqueues that meet: the same key in two transactions, in one statement or in bulk (rule 9)."""

from __future__ import annotations

from functools import partial

import pytest

from conveyor_django.managers.jobs import Accepted

from ..support.barriers import at_once
from ..support.factories import new_job
from ..support.races import A, Race

KEY = ("default", "k")


def ids(accepted: list[Accepted | None]) -> set[int]:
    """Return the ids of those that were accepted."""
    return {entry.id for entry in accepted if entry is not None}


def test_it_waits_for_the_same_key_and_then_finds_it(race: Race) -> None:
    second = race.connect()
    with race.transaction() as first:
        accepted = race.jobs.enqueue_job(new_job(idempotency_key="k", args="[1]"), on=first)
        running = race.sides.start(second, race.jobs.enqueue_job, new_job(idempotency_key="k", args="[2]"))
        running.wait_until_blocked()
        # A look before the other has committed finds nothing: hence the second statement.
        assert race.jobs.find_jobs_by_keys([KEY], on=race.main) == {}
    assert running.result() is None
    assert accepted is not None
    found = race.jobs.find_jobs_by_keys([KEY], on=second)
    assert found == {KEY: (accepted.id, "shop.tasks.noop", "[1]", "{}", "ready", None)}


def test_it_takes_the_key_over_if_the_first_rolls_back(race: Race) -> None:
    second = race.connect()
    with race.lost_transaction() as first:
        race.jobs.enqueue_job(new_job(idempotency_key="k"), on=first)
        running = race.sides.start(second, race.jobs.enqueue_job, new_job(idempotency_key="k"))
        running.wait_until_blocked()
    assert running.result() is not None


def test_other_keys_and_no_keys_do_not_wait(race: Race) -> None:
    with race.lost_transaction() as first:
        race.jobs.enqueue_jobs([new_job(idempotency_key="k"), new_job()], on=first)
        accepted = race.jobs.enqueue_jobs(
            [new_job(idempotency_key="l"), new_job(), new_job(queue="other", idempotency_key="k")], on=race.main
        )
        assert len(ids(accepted)) == 3


def test_it_locks_no_row_that_is_there(race: Race) -> None:
    race.jobs.enqueue_job(new_job(idempotency_key="k"), on=race.main)
    with race.transaction() as enqueuer:
        assert race.jobs.enqueue_job(new_job(idempotency_key="k"), on=enqueuer) is None
        assert len(race.claim(A)) == 1


@pytest.mark.parametrize("bulk", [False, True])
def test_many_at_once_make_one_job_per_key(race: Race, bulk: bool) -> None:
    connections = [race.connect() for _ in range(4)]
    keys = [f"k{n}" for n in range(20)]

    def enqueue(number: int) -> set[int]:
        # Each in an order of its own.
        jobs = [new_job(idempotency_key=key) for key in keys[number:] + keys[:number]]
        if bulk:
            return ids(race.jobs.enqueue_jobs(jobs, on=connections[number]))
        return ids([race.jobs.enqueue_job(job, on=connections[number]) for job in jobs])

    accepted = at_once(*(partial(enqueue, number) for number in range(4)))
    assert sum(map(len, accepted)) == len(set().union(*accepted)) == 20
