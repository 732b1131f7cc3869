"""Replacing a job that waits meets claims, other replacements and bulk enqueues: one job of each key stays."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection

from conveyor_django import enqueue_many
from conveyor_django.db import Connection
from conveyor_django.errors import IdempotencyConflict
from conveyor_django.managers.jobs import JobManager
from conveyor_django.models import Job, Payload

from ..support.barriers import at_once
from ..support.connections import Connect
from ..support.factories import new_job
from ..support.produce import anything
from ..support.races import A, B, Race

KEY = ("default", "k")


def keyed_job(race: Race) -> int:
    accepted = race.jobs.enqueue_job(new_job(idempotency_key="k"), on=race.main)
    assert accepted is not None
    return accepted.id


# -- one statement against another ------------------------------------------------------------------------------


def test_it_waits_for_an_open_claim_which_wins(race: Race) -> None:
    job = keyed_job(race)
    replacer = race.connect()
    with race.transaction() as claimer:
        race.claim_one(A, on=claimer)
        running = race.sides.start(replacer, race.jobs.replace_job, job, idempotency_key="k")
        running.wait_until_blocked()
    assert running.result() is False
    assert race.job(job).state == "running"
    assert race.jobs.find_jobs_by_keys([KEY], on=race.main)[KEY].id == job


def test_it_waits_for_an_open_claim_and_wins_if_that_rolls_back(race: Race) -> None:
    job = keyed_job(race)
    replacer = race.connect()
    with race.lost_transaction() as claimer:
        race.claim_one(A, on=claimer)
        running = race.sides.start(replacer, race.jobs.replace_job, job, idempotency_key="k")
        running.wait_until_blocked()
    assert running.result() is True
    assert race.job(job).state == "cancelled"


def test_a_claim_goes_on_without_a_job_that_is_being_replaced(race: Race) -> None:
    job = keyed_job(race)
    with race.transaction() as replacer:
        assert race.jobs.replace_job(job, idempotency_key="k", on=replacer)
        assert race.claim(A) == []
        new = race.jobs.enqueue_job(new_job(idempotency_key="k"), on=replacer)
    assert new is not None
    assert race.claim_one(B).id == new.id


def test_a_claim_that_has_read_before_it_does_not_get_the_job(race: Race) -> None:
    job = keyed_job(race)
    late = race.connect()
    with race.gate("claim_jobs") as held_up:
        running = race.sides.start(late, held_up.claim, A)
        running.wait_until_blocked()
        assert race.jobs.replace_job(job, idempotency_key="k", on=race.main)
    assert running.result() == []
    assert race.job(job).state == "cancelled"


def test_of_two_that_replace_the_same_job_one_does(race: Race) -> None:
    job = keyed_job(race)
    second = race.connect()
    with race.transaction() as first:
        assert race.jobs.replace_job(job, idempotency_key="k", on=first)
        running = race.sides.start(second, race.jobs.replace_job, job, idempotency_key="k")
        running.wait_until_blocked()
    assert running.result() is False


# -- whole enqueues ---------------------------------------------------------------------------------------------

with_commits = pytest.mark.django_db(transaction=True)
replacing = anything.using(idempotency_key="k", on_conflict="replace")


def alive() -> list[Any]:
    """Return the arguments of the jobs that wait or run."""
    jobs = Job.objects.select_related("payload").filter(state__in=["ready", "running"]).order_by("pk")
    return [job.payload.args for job in jobs]


def between(monkeypatch: pytest.MonkeyPatch, rival: Callable[[], object]) -> None:
    """Let a rival act once between the look for the key and the replacement."""
    replace_job, rivals = JobManager.replace_job, [rival]

    def then_replace(*args: Any, **kwargs: Any) -> bool:
        if rivals:
            rivals.pop()()
        return replace_job(*args, **kwargs)

    monkeypatch.setattr(JobManager, "replace_job", then_replace)


@with_commits
@pytest.mark.parametrize("many", [False, True])
def test_a_claim_between_look_and_replacement_wins(
    monkeypatch: pytest.MonkeyPatch, connect: Connect, many: bool
) -> None:
    anything.using(idempotency_key="k").enqueue(1)
    claim = partial(Job.objects.claim_jobs, owner=uuid.uuid4(), queues={"default": 30.0}, limit=1, on=connect())
    between(monkeypatch, claim)
    calls = [anything.bind("other"), replacing.bind(2)]
    with pytest.raises(IdempotencyConflict, match=r"\(running\)"):
        enqueue_many(calls) if many else replacing.enqueue(2)
    assert (alive(), Payload.objects.count()) == ([[1]], 1)


@with_commits
def test_another_replacement_between_is_replaced_in_turn(monkeypatch: pytest.MonkeyPatch, connect: Connect) -> None:
    first = int(anything.using(idempotency_key="k").enqueue(1).id.partition(":")[2])
    other = connect()

    def replace() -> None:
        with other.transaction():
            other.execute("UPDATE conveyor_job SET idempotency_key = NULL WHERE id = %s", (first,))
            Job.objects.enqueue_job(new_job(idempotency_key="k", args="[2]"), on=other)

    between(monkeypatch, replace)
    replacing.enqueue(3)
    assert Job.objects.select_related("payload").get(idempotency_key="k").payload.args == [3]


@with_commits
def test_a_key_that_was_given_up_between_is_taken(monkeypatch: pytest.MonkeyPatch, connect: Connect) -> None:
    anything.using(idempotency_key="k").enqueue(1)
    other: Connection = connect()
    between(monkeypatch, lambda: other.execute("DELETE FROM conveyor_job"))
    enqueue_many([anything.bind(0), replacing.bind(2)])
    assert alive() == [[0], [2]]


@with_commits
def test_however_many_replace_one_job_at_once_none_is_refused() -> None:
    def replace() -> None:
        try:
            for turn in range(10):
                replacing.enqueue(turn)
        finally:
            connection.close()

    at_once(*[replace] * 8)
    assert len(alive()) == 1
    assert Job.objects.filter(state="cancelled", idempotency_key=None).count() == 79


@with_commits
@pytest.mark.parametrize("taken", [0, 10, 20])
def test_bulk_replacements_of_the_same_keys_in_any_order(taken: int) -> None:
    """Neither side ends in a deadlock, with keys of jobs that wait, free keys, and both."""
    keys = [f"k{n:02}" for n in range(20)]
    enqueue_many(anything.using(idempotency_key=key).bind("old") for key in keys[20 - taken :])

    def replace(number: int) -> None:
        order = keys[number * 5 :] + keys[: number * 5]
        try:
            for turn in range(3):
                enqueue_many(
                    anything.using(idempotency_key=key, on_conflict="replace").bind(number, turn)
                    for key in (order if turn % 2 else reversed(order))
                )
        finally:
            connection.close()

    at_once(*(partial(replace, number) for number in range(4)))
    assert Job.objects.filter(state="ready").count() == Job.objects.exclude(idempotency_key=None).count() == 20
    assert Job.objects.filter(state="cancelled").count() == 12 * 20 + taken - 20
