"""prune_chosen: those that are named go, each as it was seen; nothing that somebody still needs."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import TextField
from django.db.models.functions import Cast

from conveyor_django.models import Attempt, Dependency, Job, Ledger, Payload

from ..support.factories import AttemptFactory, JobFactory
from ..support.workflows import WorkflowFactory, child_of, member
from .conftest import NOW

pytestmark = pytest.mark.django_db


def seen(*jobs: Job) -> dict[int, str]:
    """Return when the jobs ended, as the server writes it."""
    rows = Job.objects.filter(pk__in=[job.pk for job in jobs])
    return dict(rows.values_list("pk", Cast("finished_at", TextField())))


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_an_ended_job_goes_with_all_that_is_its_own(state: str) -> None:
    gone, kept = JobFactory(**{state: True}), JobFactory(**{state: True})
    for job in (gone, kept):
        AttemptFactory(job=job)
    assert Job.objects.prune_chosen(seen(gone)) == 1
    assert list(Job.objects.all()) == [kept]
    for model in (Payload, Ledger, Attempt):
        assert set(model.objects.values_list("job_id", flat=True)) <= {kept.pk}


@pytest.mark.parametrize("state", ["blocked", "scheduled", "ready", "running"])
def test_one_that_has_not_ended_stays(state: str) -> None:
    job = JobFactory(**{} if state == "ready" else {state: True})
    assert Job.objects.prune_chosen({job.pk: None}) == 0
    assert Job.objects.exists()


def test_one_that_ended_at_another_time_stays() -> None:
    job = JobFactory(succeeded=True, finished_at=NOW)
    given = seen(job)
    Job.objects.filter(pk=job.pk).update(finished_at=NOW + dt.timedelta(microseconds=1))
    assert Job.objects.prune_chosen(given) == 0
    assert Job.objects.prune_chosen(seen(job)) == 1


def test_one_of_a_workflow_stays_until_that_is_finished() -> None:
    workflow = WorkflowFactory()
    job = member(workflow, "succeeded")
    assert Job.objects.prune_chosen(seen(job)) == 0
    workflow.finished_at = NOW
    workflow.save()
    assert Job.objects.prune_chosen(seen(job)) == 1


def test_one_that_a_job_waits_for_stays() -> None:
    workflow = WorkflowFactory(finished_at=NOW)
    parent = member(workflow, "succeeded")
    child_of(parent)
    assert Job.objects.prune_chosen(seen(parent)) == 0
    Dependency.objects.update(resolved=True)
    assert Job.objects.prune_chosen(seen(parent)) == 1


def test_none() -> None:
    JobFactory(succeeded=True)
    assert Job.objects.prune_chosen({}) == 0


def test_the_permission_to_delete_ends_with_the_transaction() -> None:
    Job.objects.prune_chosen(seen(JobFactory(succeeded=True)))
    # Within the test's outer transaction it lasts; a new one does not have it.
    connection.cursor().execute("SET LOCAL conveyor.pruning = ''")
    job = JobFactory(succeeded=True)
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        Ledger.objects.filter(job_id=job.pk).delete()
