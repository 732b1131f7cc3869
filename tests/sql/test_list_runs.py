"""list_runs: what runs, by owner."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django.models import Job

from ..support.factories import JobFactory, in_seconds

pytestmark = pytest.mark.django_db


def test_the_oldest_of_each_owner_and_how_many_it_has(owner: uuid.UUID, other: uuid.UUID) -> None:
    young, old, older = (
        JobFactory(running=True, lease_owner=owner, claimed_at=in_seconds(-seconds)) for seconds in (1, 2, 3)
    )
    alone = JobFactory(running=True, lease_owner=other, queue="b", attempt=2, lost_count=1)
    JobFactory()
    runs = Job.objects.list_runs(limit=100, shown=2)
    assert {(run.owner, run.job_id, run.held) for run in runs} == {
        (owner, older.pk, 3), (owner, old.pk, 3), (other, alone.pk, 1),
    }  # fmt: skip
    assert [run.job_id for run in runs if run.owner == owner] == [older.pk, old.pk]
    [run] = [run for run in runs if run.owner == other]
    assert run[3:] == (alone.task, "b", 3, alone.claimed_at, alone.lease_expires_at)
    assert young.pk in {run.job_id for run in Job.objects.list_runs(limit=100, shown=3)}


def test_no_more_than_the_limit(owner: uuid.UUID) -> None:
    JobFactory.create_batch(3, running=True, lease_owner=owner)
    assert [run.held for run in Job.objects.list_runs(limit=2, shown=5)] == [2, 2]
