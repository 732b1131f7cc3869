"""claim_jobs where the caps of queues have a say."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django.managers.exchange import Claim
from conveyor_django.models import Job, Permit, Queue

from ..support.factories import QueueFactory
from .claiming import claim, end, jobs, look
from .conftest import NOW

pytestmark = pytest.mark.django_db


def running() -> int:
    return Job.objects.filter(state="running").count()


# -- soft caps --------------------------------------------------------------------------------------


def test_a_soft_cap_counts_what_runs_in_its_queue(owner: uuid.UUID) -> None:
    QueueFactory(soft_cap=3)
    jobs(5), jobs(2, running=True), jobs(4, running=True, queue="other")
    found = look(owner)
    assert (len(found.jobs), found.parked, found.unprovided) == (1, [], [])
    assert look(owner).jobs == []
    assert not Permit.objects.exists()


def test_a_soft_cap_that_was_lowered_below_what_runs(owner: uuid.UUID) -> None:
    QueueFactory(soft_cap=1)
    jobs(2, running=True), jobs(1)
    assert claim(owner) == []


def test_a_full_queue_holds_up_no_other(owner: uuid.UUID) -> None:
    QueueFactory(soft_cap=1)
    jobs(1, running=True), jobs(3)
    [free] = jobs(1, queue="free")
    assert claim(owner, 10, "default", "free") == [free.pk]


# -- the exact cap of a queue -----------------------------------------------------------------------


def test_the_first_claim_says_which_permits_to_make(owner: uuid.UUID) -> None:
    QueueFactory(exact_cap=3)
    jobs(5)
    found = look(owner)
    assert (found.jobs, found.parked, found.unprovided) == ([], [], [("default", "", 3)])


def test_an_exact_cap_is_held_by_permits(owner: uuid.UUID) -> None:
    QueueFactory(exact_cap=3)
    waiting = jobs(5)
    assert claim(owner) == [job.pk for job in waiting[:3]]
    assert set(Permit.objects.values_list("key", "job_id", "lease_version", "taken_at")) == {
        ("", job.pk, 1, NOW) for job in waiting[:3]
    }
    assert look(owner) == Claim()
    end(waiting[1].pk)
    assert claim(owner) == [waiting[3].pk]
    assert running() == 3


def test_a_claim_that_asks_for_less_takes_no_more_permits(owner: uuid.UUID) -> None:
    QueueFactory(exact_cap=3)
    jobs(5)
    claim(owner, 1)
    assert Permit.objects.exclude(job_id=0).count() == 1


def test_runs_that_began_before_the_cap_count(owner: uuid.UUID) -> None:
    """They have no permits."""
    jobs(3)
    assert len(claim(owner, 2)) == 2
    QueueFactory(exact_cap=2)
    assert claim(owner) == []
    end(Job.objects.filter(state="running").earliest("pk").pk)
    assert len(claim(owner)) == 1


def test_a_lowered_cap_takes_nothing_until_few_enough_run(owner: uuid.UUID) -> None:
    """Whichever places the runs have: those beyond the cap count, and those below it."""
    QueueFactory(exact_cap=4)
    waiting = jobs(8)
    first = claim(owner)
    Queue.objects.update(exact_cap=2)
    places = {permit.job_id: permit.number for permit in Permit.objects.all()}
    by_place = sorted(first, key=places.__getitem__)
    # One from below the cap and one from beyond it: one of each is left.
    end(by_place[0], by_place[3])
    assert claim(owner) == []
    end(by_place[1])
    assert claim(owner) == [waiting[4].pk]
    assert running() == 2


def test_a_raised_cap_gets_its_places(owner: uuid.UUID) -> None:
    QueueFactory(exact_cap=1)
    jobs(5)
    assert len(claim(owner)) == 1
    Queue.objects.update(exact_cap=3)
    assert len(claim(owner)) == 2


def test_the_smaller_cap_counts(owner: uuid.UUID) -> None:
    QueueFactory(soft_cap=2, exact_cap=3)
    jobs(5)
    assert len(claim(owner)) == 2
