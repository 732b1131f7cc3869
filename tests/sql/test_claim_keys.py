"""claim_jobs where concurrency keys have a say, alone or with the cap of their queue."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django.managers.exchange import Claim
from conveyor_django.models import Job, Permit

from ..support.factories import JobFactory, PermitFactory, QueueFactory
from .claiming import claim, end, ids, jobs, keyed, look, parked

pytestmark = pytest.mark.django_db


# -- one key ----------------------------------------------------------------------------------------


def test_one_job_of_a_key_at_once_and_the_others_are_parked(owner: uuid.UUID) -> None:
    first, *others = keyed(3)
    [plain] = jobs(1)
    found = look(owner)
    assert (ids(found), found.unprovided, found.parked) == ([plain.pk], [("default", "k", 1)], [])
    Job.objects.make_permits(found.unprovided)
    found = look(owner)
    assert (ids(found), found.unprovided, found.parked) == ([first.pk], [], [("default", "k")])
    assert parked() == {job.pk: "key" for job in others}
    assert [job.concurrency_key for job in found.jobs] == ["k"]
    assert look(owner) == Claim()


def test_the_cap_per_key_is_the_queues(owner: uuid.UUID) -> None:
    QueueFactory(key_cap=2)
    keyed(3), keyed(3, "l"), keyed(3, queue="other")
    assert len(claim(owner, 10, "default", "other")) == 5


def test_what_is_far_behind_is_parked_too_but_not_what_else_waits(owner: uuid.UUID) -> None:
    PermitFactory(run=JobFactory(running=True))
    hot = [job for _ in range(20) for job in (*keyed(1), *jobs(1))][::2]
    assert len(look(owner, 4).jobs) == 2
    assert parked() == {job.pk: "key" for job in hot}


def test_a_key_is_its_queues_own(owner: uuid.UUID) -> None:
    keyed(1, queue="a"), keyed(1, queue="b")
    assert len(claim(owner, 10, "a", "b")) == 2


@pytest.mark.parametrize("trait", ["succeeded", "failed", "cancelled"])
def test_the_end_of_a_run_frees_its_permit_however_it_ended(owner: uuid.UUID, trait: str) -> None:
    PermitFactory(run=JobFactory(**{trait: True}))
    assert len(claim(owner)) == 0
    [job] = keyed(1)
    assert claim(owner) == [job.pk]


def test_a_rescue_frees_the_permit(owner: uuid.UUID) -> None:
    lost, following = JobFactory(lapsed=True, concurrency_key="k", priority=-1), keyed(1)[0]
    PermitFactory(run=lost)
    assert claim(owner) == []
    Job.objects.rescue_jobs(limit=10, max_lost=3)
    Job.objects.unpark_jobs([("default", "k")])
    assert claim(owner) == [following.pk]
    assert parked() == {lost.pk: "key"}


def test_who_comes_later_does_not_overtake_a_parked_job(owner: uuid.UUID) -> None:
    """Also where nobody has put it back in line yet."""
    PermitFactory(run=JobFactory(succeeded=True))
    older = JobFactory(parked_by_key=True)
    [newer] = keyed(1)
    found = look(owner)
    assert ids(found) == [older.pk]
    assert parked() == {newer.pk: "key"}


def test_a_higher_priority_goes_before_a_parked_job(owner: uuid.UUID) -> None:
    PermitFactory(run=JobFactory(succeeded=True))
    older = JobFactory(parked_by_key=True)
    [urgent] = keyed(1, priority=1)
    assert claim(owner) == [urgent.pk]
    assert parked() == {older.pk: "key"}


def test_the_limit_holds_where_parked_jobs_take_their_turn(owner: uuid.UUID) -> None:
    QueueFactory(key_cap=5)
    for number in range(1, 6):
        PermitFactory(number=number)
    JobFactory.create_batch(5, parked_by_key=True)
    keyed(5)
    assert len(look(owner, 2).jobs) == 2


def test_a_lowered_cap_per_key(owner: uuid.UUID) -> None:
    QueueFactory(key_cap=2)
    PermitFactory(number=1), PermitFactory(number=2, run=JobFactory(running=True))
    PermitFactory(number=3, run=JobFactory(running=True))
    keyed(1)
    assert claim(owner) == []


def test_priority_holds_in_a_queue_keyed_jobs_included(owner: uuid.UUID) -> None:
    low, high = keyed(1, priority=-5)[0], keyed(1, "l", priority=5)[0]
    middle = jobs(1)[0]
    Job.objects.make_permits([("default", "k", 1), ("default", "l", 1)])
    assert ids(look(owner, 2)) == [high.pk, middle.pk]
    assert ids(look(owner, 2)) == [low.pk]


# -- both -------------------------------------------------------------------------------------------


def test_a_keyed_job_of_a_capped_queue_takes_both_permits_or_none(owner: uuid.UUID) -> None:
    QueueFactory(exact_cap=2)
    first, *_ = keyed(2)
    second, third = jobs(2)
    assert claim(owner) == [first.pk, second.pk]
    assert set(Permit.objects.values_list("key", "job_id")) == {("", first.pk), ("", second.pk), ("k", first.pk)}
    end(second.pk)
    assert claim(owner) == [third.pk]
    assert Permit.objects.get(key="k").job_id == first.pk


def test_a_key_permit_is_not_taken_where_the_queue_has_none(owner: uuid.UUID) -> None:
    QueueFactory(exact_cap=1)
    PermitFactory(key="k"), PermitFactory(key="l"), PermitFactory(key="")
    first, second = keyed(1)[0], keyed(1, "l")[0]
    assert ids(look(owner)) == [first.pk]
    assert (Permit.objects.get(key="l").job_id, parked()) == (0, {})
    end(first.pk)
    assert ids(look(owner)) == [second.pk]


# -- permits that are gone or held up ---------------------------------------------------------------


def test_a_permit_that_names_an_older_run_of_the_same_job_is_free(owner: uuid.UUID) -> None:
    again = JobFactory(running=True, lease_version=5)
    PermitFactory(job_id=again.pk, lease_version=4)
    [job] = keyed(1)
    assert claim(owner) == [job.pk]


def test_a_limit_of_nothing(owner: uuid.UUID) -> None:
    QueueFactory(exact_cap=1)
    keyed(1)
    assert look(owner, 0) == Claim()
