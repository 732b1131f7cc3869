"""claim_jobs where caps, keys and pauses have a say."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django.managers.exchange import Claim
from conveyor_django.models import Job, Permit, Queue

from ..support.factories import JobFactory, PausedTaskFactory, PermitFactory, QueueFactory
from .conftest import NOW

pytestmark = pytest.mark.django_db

OTHER = "shop.tasks.other"


def look(owner: uuid.UUID, limit: int = 10, *queues: str) -> Claim:
    """Claim once."""
    return Job.objects.claim(owner=owner, queues=dict.fromkeys(queues or ("default",), 30.0), limit=limit, now=NOW)


def claim(owner: uuid.UUID, limit: int = 10, *queues: str) -> list[int]:
    """Claim as a worker does: again after missing permits were made or jobs parked; return the ids."""
    taken: list[int] = []
    while True:
        found = look(owner, limit - len(taken), *queues)
        taken += ids(found)
        if not found.unprovided and not found.parked:
            return taken
        Job.objects.make_permits(found.unprovided, now=NOW)


def ids(found: Claim) -> list[int]:
    """Return the ids of the jobs claimed."""
    return [job.id for job in found.jobs]


def jobs(count: int, **fields: object) -> list[Job]:
    """Make ready jobs, oldest first."""
    return [JobFactory(**fields) for _ in range(count)]


def keyed(count: int, key: str = "k", **fields: object) -> list[Job]:
    """Make ready jobs of one key."""
    return jobs(count, concurrency_key=key, **fields)


def parked() -> dict[int, str]:
    """Return why each parked job is so."""
    return dict(Job.objects.exclude(parked=None).values_list("pk", "parked"))


def end(*job_ids: int) -> None:
    """End runs, however."""
    Job.objects.filter(pk__in=job_ids).update(state="failed", lease_owner=None, lease_expires_at=None, finished_at=NOW)


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


# -- keys -------------------------------------------------------------------------------------------


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


# -- paused tasks -----------------------------------------------------------------------------------


def test_jobs_of_a_paused_task_are_parked_in_every_queue(owner: uuid.UUID) -> None:
    PausedTaskFactory()
    paused = [*jobs(2), *jobs(1, queue="b")]
    [other] = jobs(1, task=OTHER)
    found = look(owner, 10, "default", "b")
    assert ids(found) == [other.pk]
    assert sorted(found.parked, key=str) == [("b", None), ("default", None)]
    assert parked() == {job.pk: "task" for job in paused}


def test_a_paused_task_takes_no_permits_of_its_jobs_keys(owner: uuid.UUID) -> None:
    PausedTaskFactory()
    PermitFactory()
    paused, other = keyed(1)[0], keyed(1, task=OTHER)[0]
    assert ids(look(owner)) == [other.pk]
    assert parked() == {paused.pk: "task"}


def test_a_parked_job_of_a_paused_task_has_no_turn(owner: uuid.UUID) -> None:
    PausedTaskFactory()
    PermitFactory()
    JobFactory(parked_by_key=True)
    [other] = keyed(1, task=OTHER)
    assert ids(look(owner)) == [other.pk]


def test_a_job_that_two_things_keep_is_parked_for_its_task(owner: uuid.UUID) -> None:
    PausedTaskFactory()
    PermitFactory(run=JobFactory(running=True))
    both, full = keyed(1)[0], keyed(1, task=OTHER)[0]
    assert claim(owner) == []
    assert parked() == {both.pk: "task", full.pk: "key"}


def test_the_keys_of_what_is_parked_are_named_whatever_it_was_parked_for(owner: uuid.UUID) -> None:
    """Another job of the key may have its turn."""
    PausedTaskFactory()
    PermitFactory()
    keyed(1), jobs(1)
    assert sorted(look(owner).parked, key=str) == [("default", "k"), ("default", None)]


def test_a_queue_that_is_paused_gives_nothing_and_parks_nothing(owner: uuid.UUID) -> None:
    QueueFactory(paused=True, exact_cap=1, soft_cap=1, key_cap=1)
    keyed(2)
    assert look(owner) == Claim()


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
