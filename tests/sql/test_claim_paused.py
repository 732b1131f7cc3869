"""claim_jobs where tasks or queues are paused."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django.managers.exchange import Claim

from ..support.factories import JobFactory, PausedTaskFactory, PermitFactory, QueueFactory
from .claiming import claim, ids, jobs, keyed, look, parked

pytestmark = pytest.mark.django_db

OTHER = "shop.tasks.other"


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
