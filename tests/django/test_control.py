"""cancel and requeue, as a project calls them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.db import transaction

from conveyor_django import cancel, requeue
from conveyor_django.compat import TaskResultStatus
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


def test_a_result_names_its_job() -> None:
    result = anything.enqueue()
    assert cancel(result) == "cancelled"
    assert requeue(result) == [Job.objects.get().pk]


@pytest.mark.parametrize("given", ["other:1", "x", "", "42", "default:9223372036854775808", 0, -1, 2**63])
@pytest.mark.parametrize("act", [cancel, requeue])
def test_what_names_no_job_here_is_refused(act: Any, given: Any) -> None:
    with pytest.raises(ValueError, match="names no job of database 'default'") as caught:
        act(given)
    assert str(caught.value) == (
        f"{given!r} names no job of database 'default': "
        "pass a job's int id, a TaskResult, or result.id, such as 'default:42'."
    )


@pytest.mark.parametrize("given", [None, True, 1.0, [1]])
@pytest.mark.parametrize("act", [cancel, requeue])
def test_what_is_no_name_at_all_is_refused(act: Any, given: Any) -> None:
    with pytest.raises(TypeError, match="pass a job's int id, a TaskResult"):
        act(given)


def test_requeue_changes_nothing_where_one_is_refused() -> None:
    failed = JobFactory(failed=True)
    with pytest.raises(TypeError):
        requeue(failed.pk, None)  # type: ignore[arg-type]
    failed.refresh_from_db()
    assert failed.state == "failed"


def test_a_result_of_another_backend_is_refused() -> None:
    foreign = replace(anything.enqueue(), id="a0b1c2")
    with pytest.raises(ValueError, match="'a0b1c2' names no job"):
        cancel(foreign)
