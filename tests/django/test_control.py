"""cancel and requeue, as a project calls them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from conveyor_django import cancel, requeue
from conveyor_django.compat import TaskResultDoesNotExist, TaskResultStatus
from conveyor_django.models import Job

from ..support.factories import JobFactory
from ..support.produce import anything

pytestmark = pytest.mark.django_db


def test_cancel_by_the_results_id() -> None:
    result = anything.enqueue()
    assert cancel(result.id) == "cancelled"
    result.refresh()
    assert result.status == TaskResultStatus.FAILED


def test_cancel_of_a_running_job_is_a_request() -> None:
    job = JobFactory(running=True)
    assert cancel(job.pk) == "running"
    job.refresh_from_db()
    assert job.cancel_requested_at is not None


@pytest.mark.parametrize("trait", ["succeeded", "failed", "cancelled"])
def test_cancel_of_an_ended_job_does_nothing(trait: str) -> None:
    assert cancel(JobFactory(**{trait: True}).pk) is None


def test_cancel_of_no_job() -> None:
    assert cancel(1_000_000) is None


def test_cancel_is_part_of_the_callers_transaction() -> None:
    result = anything.enqueue()
    with transaction.atomic():
        cancel(result.id)
        transaction.set_rollback(True)
    assert Job.objects.get().state == "ready"


def test_requeue_says_which_jobs_it_took() -> None:
    failed, cancelled = JobFactory(failed=True), JobFactory(cancelled=True)
    succeeded, waiting = JobFactory(succeeded=True), JobFactory()
    taken = requeue(failed.pk, f"default:{cancelled.pk}", succeeded.pk, waiting.pk, 1_000_000)
    assert taken == sorted([failed.pk, cancelled.pk])
    failed.refresh_from_db()
    assert (failed.state, failed.attempt) == ("ready", 0)


def test_requeue_of_nothing() -> None:
    assert requeue() == []


@pytest.mark.parametrize("given", ["other:1", "x", "", "default:9223372036854775808"])
@pytest.mark.parametrize("act", [cancel, requeue])
def test_an_id_of_another_database_is_refused(act: Any, given: str) -> None:
    with pytest.raises(TaskResultDoesNotExist):
        act(given)
