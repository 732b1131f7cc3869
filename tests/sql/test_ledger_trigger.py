"""The ledger is append-only: a trigger refuses what would take an effect back."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from conveyor_django.models import Job, Ledger

from ..support.factories import JobFactory, LedgerFactory
from .conftest import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def job() -> Job:
    """A job with its effect."""
    return JobFactory(succeeded=True, finished_at=NOW)


@pytest.mark.parametrize("pruning", [False, True])
def test_no_update(job: Job, pruning: bool) -> None:
    if pruning:
        connection.cursor().execute("SET LOCAL conveyor.pruning = 'on'")
    with pytest.raises(IntegrityError, match=f"append-only: UPDATE of job {job.id}"), transaction.atomic():
        Ledger.objects.filter(job_id=job.id).update(result=1)


def test_no_delete(job: Job) -> None:
    with pytest.raises(IntegrityError, match=f"append-only: DELETE of job {job.id}"), transaction.atomic():
        Ledger.objects.filter(job_id=job.id).delete()


def test_not_by_a_delete_of_the_job_either(job: Job) -> None:
    Job.objects.filter(pk=job.id).delete()
    assert Ledger.objects.get().job_id == job.id


@pytest.mark.parametrize("step", ["", "authorise"])
def test_one_row_per_job_and_step(job: Job, step: str) -> None:
    LedgerFactory(job=job, step="authorise")
    with pytest.raises(IntegrityError, match="conveyor_ledger"), transaction.atomic():
        LedgerFactory(job=job, step=step)


def test_pruning_may_delete(job: Job) -> None:
    assert Job.objects.prune_jobs(limit=1, retention=0, failed_retention=0, now=NOW.replace(year=2040)) == 1
    assert not Ledger.objects.exists()
