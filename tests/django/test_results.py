"""What the tables say of a job, as the framework's TaskResult."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import uuid
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries, Settings

from conveyor_django import outcomes
from conveyor_django.compat import TaskResultDoesNotExist, TaskResultStatus, task_backends
from conveyor_django.errors import JobCancelled, LeaseLost, UnknownTask
from conveyor_django.models import Attempt, Job
from conveyor_django.outcomes import Claimed, ErrorInfo
from conveyor_django.results import finished_result, place_of, result_id, running_result
from conveyor_django.states import JobState
from conveyor_django.tasks import options_of

from ..support.factories import AttemptFactory, JobFactory, LedgerFactory, in_seconds
from ..support.produce import anything, with_options

pytestmark = pytest.mark.django_db

PATH = "tests.support.produce.with_options"
OWNERS = [uuid.UUID(int=place) for place in range(1, 9)]
ERROR = ErrorInfo(error_class="builtins.ValueError", message="no", traceback="Traceback: no\n")


def result_of(job: Job) -> Any:
    return task_backends["default"].get_result(result_id("default", job.pk))


def row(job: Job, version: int, verb: str, **fields: Any) -> Attempt:
    return AttemptFactory(job=job, lease_version=version, verb=verb, owner=OWNERS[version - 1], **fields)


def owners(*versions: int) -> list[str]:
    return [str(OWNERS[version - 1]) for version in versions]


@pytest.mark.parametrize(
    ("trait", "status"),
    [
        ("blocked", TaskResultStatus.READY),
        ("scheduled", TaskResultStatus.READY),
        ("running", TaskResultStatus.RUNNING),
        ("succeeded", TaskResultStatus.SUCCESSFUL),
        ("failed", TaskResultStatus.FAILED),
        ("cancelled", TaskResultStatus.FAILED),
    ],
)
def test_the_status_of_each_state(trait: str, status: TaskResultStatus) -> None:
    job = JobFactory(**{trait: True}, task=PATH)
    result = result_of(job)
    assert result.status == status
    assert result.is_finished == JobState(job.state).is_terminal
    assert (result.enqueued_at, result.started_at) == (job.created_at, job.started_at)
    assert (result.finished_at, result.last_attempted_at) == (job.finished_at, job.claimed_at)


def test_a_result_of_a_success() -> None:
    job = JobFactory(succeeded=True, task=PATH, lease_version=3, ledger=None, payload__args=[1])
    LedgerFactory(job=job, result={"sum": 3}, owner=OWNERS[2])
    row(job, 1, "retry")
    row(job, 2, "rescue", error_class="conveyor_django.errors.LeaseLost", message="lapsed", traceback="")
    result = result_of(job)
    assert result.return_value == {"sum": 3}
    assert (result.args, result.worker_ids, result.attempts) == ([1], owners(1, 2, 3), 3)
    assert [error.exception_class for error in result.errors] == [ValueError, LeaseLost]
    assert result.errors[1].traceback == "conveyor_django.errors.LeaseLost: lapsed\n"


def test_a_success_without_a_value() -> None:
    assert result_of(JobFactory(succeeded=True, task=PATH)).return_value is None


def test_a_wait_for_a_retry_is_ready_with_its_history() -> None:
    job = JobFactory(scheduled=True, task=PATH, lease_version=4)
    row(job, 1, "retry")
    row(job, 2, "release", error_class="", message="given back")
    row(job, 3, "snooze", error_class="")
    row(job, 4, "retry")
    result = result_of(job)
    assert result.status == TaskResultStatus.READY
    # Neither a release nor a snooze is an attempt, or an error.
    assert result.worker_ids == owners(1, 4)
    assert len(result.errors) == 2
    with pytest.raises(ValueError, match="not finished"):
        _ = result.return_value


def test_a_running_job_counts_the_run_under_way() -> None:
    job = JobFactory(running=True, task=PATH, lease_version=2, lease_owner=OWNERS[1])
    row(job, 1, "retry")
    # As if the run had ended between the two reads.
    row(job, 2, "fail")
    result = result_of(job)
    assert (result.worker_ids, len(result.errors)) == (owners(1, 2), 1)


def test_a_failure_shows_its_error() -> None:
    job = JobFactory(failed=True, task=PATH)
    row(job, 1, "fail", finished_at=job.finished_at)
    result = result_of(job)
    assert [(error.exception_class, error.traceback) for error in result.errors] == [(ValueError, "Traceback …")]
    with pytest.raises(ValueError, match="Task failed"):
        _ = result.return_value


def test_a_job_lost_too_often_says_so() -> None:
    job = JobFactory(failed=True, task=PATH)
    row(job, 1, "rescue", error_class="conveyor_django.errors.LeaseLost", finished_at=job.finished_at)
    assert [error.exception_class for error in result_of(job).errors] == [LeaseLost]


def test_a_job_given_back_too_often_says_so() -> None:
    job = JobFactory(failed=True, task=PATH, release_count=2)
    row(job, 1, "release", error_class="", message="its module is gone", finished_at=job.finished_at)
    (error,) = result_of(job).errors
    assert error.exception_class is LeaseLost
    assert "given back 2 times, at last: its module is gone" in error.traceback


def test_a_job_cancelled_while_it_waited_says_so() -> None:
    job = JobFactory(cancelled=True, task=PATH, lease_version=1)
    row(job, 1, "retry", finished_at=in_seconds(-60))
    result = result_of(job)
    assert [error.exception_class for error in result.errors] == [ValueError, JobCancelled]
    assert f"job {job.pk} was cancelled" in result.errors[-1].traceback


def test_a_job_cancelled_while_it_ran_shows_how_the_run_ended() -> None:
    job = JobFactory(cancelled=True, task=PATH, lease_version=1)
    row(job, 1, "cancel", finished_at=job.finished_at)
    assert [error.exception_class for error in result_of(job).errors] == [ValueError]


def test_the_task_is_as_it_was_enqueued() -> None:
    later = in_seconds(3600)
    changed = with_options.using(priority=5, queue_name="orders", run_after=later, idempotency_key="k", max_attempts=9)
    result = changed.enqueue(1)
    assert result_of(Job.objects.get()).task == changed
    assert result.task == changed


def test_a_budget_from_the_settings_is_not_an_option_of_the_task(settings: Settings) -> None:
    settings.CONVEYOR = {"MAX_ATTEMPTS": 11}
    result = anything.enqueue()
    assert result_of(Job.objects.get()).task == anything
    settings.CONVEYOR = {"MAX_ATTEMPTS": 12}
    result.refresh()
    assert options_of(result_of(Job.objects.get()).task).max_attempts == 11


def test_the_time_of_the_next_try_is_not_a_run_after() -> None:
    job = JobFactory(scheduled=True, task=PATH, started_at=in_seconds(-10), created_at=in_seconds(-20))
    assert result_of(job).task.run_after is None


def test_a_job_whose_function_is_gone_is_still_readable() -> None:
    job = JobFactory(failed=True, task="gone_app.jobs.settle", priority=3, payload__args=[1])
    result = result_of(job)
    assert (result.task.module_path, result.task.name) == ("gone_app.jobs.settle", "settle")
    assert (result.task.priority, result.args, options_of(result.task).max_attempts) == (3, [1], 5)
    with pytest.raises(UnknownTask, match="no module 'gone_app'"):
        result.task.call(1)
    result.refresh()


@pytest.mark.parametrize("path", [PATH, "gone_app.jobs.settle"])
def test_a_job_whose_queue_is_gone_is_still_readable(path: str) -> None:
    assert result_of(JobFactory(task=path, queue="closed")).task.queue_name == "closed"


def test_a_job_whose_payload_is_gone_is_still_readable() -> None:
    assert result_of(JobFactory(task=PATH, payload=None)).args == []


@pytest.mark.parametrize(("trait", "queries"), [("scheduled", 2), ("succeeded", 3)])
def test_it_takes_few_queries(trait: str, queries: int, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    job = JobFactory(**{trait: True}, task=PATH)
    row(job, 1, "retry")
    with django_assert_num_queries(queries):
        result_of(job)


@pytest.mark.parametrize("alias", ["default", "a:b", "a" * 44, "ä\n"])
def test_ids_are_short_and_their_own_inverse(settings: Settings, alias: str) -> None:
    longest = result_id(alias, 2**63 - 1)
    assert len(longest) <= 64
    settings.CONVEYOR = {"QUEUES": {"billing": {"DATABASE": alias}}}
    assert place_of(longest) == (2**63 - 1, alias)
    settings.CONVEYOR = {"DATABASE": "b"}
    with pytest.raises(TaskResultDoesNotExist):
        place_of(longest)


@pytest.mark.parametrize("given", [7, "7", "nowhere:7", "default:0"])
def test_what_is_no_id_is_told_what_one_looks_like(given: object) -> None:
    with pytest.raises(TaskResultDoesNotExist, match=rf"^{given!r} is no result's id: one looks like 'default:7'\.$"):
        place_of(given)


# -- what a worker builds ---------------------------------------------------------------------------------


def claimed(job: Job, version: int, attempt: int) -> Claimed:
    return Claimed(
        id=job.pk, version=version, queue=job.queue, task=job.task, args="[1]", kwargs="{}", attempt=attempt,
        max_attempts=5, lost_count=0, release_count=0, lease_seconds=30.0, created_at=job.created_at,
    )  # fmt: skip


def running(job: Job, version: int, attempt: int | None = None) -> Any:
    return running_result(
        claimed(job, version, attempt or version),
        owner=OWNERS[version - 1],
        task=with_options,
        args=[1],
        kwargs={},
        alias="default",
    )


def test_a_first_run_asks_the_database_nothing(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    job = JobFactory(running=True, task=PATH, lease_owner=OWNERS[0], payload__args=[1])
    with django_assert_num_queries(0):
        result = running(job, 1)
    assert (result.id, result.status, result.worker_ids) == (
        f"default:{job.pk}", TaskResultStatus.RUNNING, owners(1),
    )  # fmt: skip
    assert (result.enqueued_at, result.errors, result.args) == (job.created_at, [], [1])
    stored = result_of(job)
    differing = {f.name for f in dataclasses.fields(result) if getattr(result, f.name) != getattr(stored, f.name)}
    # The task is the declared one there; instants of this run are by this process's clock.
    assert differing <= {"task", "started_at", "last_attempted_at"}


def test_a_later_run_brings_its_history(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    job = JobFactory(running=True, task=PATH, lease_version=3)
    first = row(job, 1, "retry", started_at=in_seconds(-60))
    row(job, 2, "release", error_class="")
    with django_assert_num_queries(1):
        result = running(job, 3)
    assert (result.worker_ids, result.attempts, len(result.errors)) == (owners(1, 3), 2, 1)
    assert result.started_at == first.started_at


def test_a_refunded_run_is_no_attempt() -> None:
    job = JobFactory(running=True, task=PATH, lease_version=2)
    row(job, 1, "snooze", error_class="")
    assert running(job, 2, attempt=1).worker_ids == owners(2)


def test_a_job_that_its_workflow_cancelled_says_so() -> None:
    job = JobFactory(cancelled=True, cancel_requested_at=None, workflow_id=7, task=PATH)
    [error] = result_of(job).errors
    assert "its workflow cancelled it: a job that it needs failed or was cancelled" in error.traceback
    asked_for = JobFactory(cancelled=True, workflow_id=7, task=PATH)
    assert "requeue" in result_of(asked_for).errors[0].traceback


def test_a_finished_result_of_a_success() -> None:
    before = running(JobFactory(task=PATH), 1)
    result = finished_result(before, outcomes.Succeed(id=1, version=1, result="3"), 3)
    assert (result.status, result.return_value, result.errors) == (TaskResultStatus.SUCCESSFUL, 3, [])
    assert isinstance(result.finished_at, dt.datetime)
    assert before.status == TaskResultStatus.RUNNING


@pytest.mark.parametrize(
    ("outcome", "status", "finished"),
    [
        (outcomes.Fail, TaskResultStatus.FAILED, True),
        (outcomes.Cancel, TaskResultStatus.FAILED, True),
        (outcomes.Retry, TaskResultStatus.READY, False),
    ],
)
def test_a_finished_result_of_an_error(outcome: Any, status: TaskResultStatus, finished: bool) -> None:
    before = running(JobFactory(task=PATH), 1)
    result = finished_result(before, outcome(id=1, version=1, error=ERROR))
    assert (result.status, result.finished_at is not None) == (status, finished)
    assert [(error.exception_class, error.traceback) for error in result.errors] == [(ValueError, ERROR.traceback)]
    assert before.errors == []


def test_the_payload_round_trips_through_the_claim() -> None:
    anything.enqueue((1, 2.5), x={"é": [None, True]})
    (job,) = Job.objects.claim_jobs(owner=OWNERS[0], queues={"default": 30.0}, limit=1)
    assert (json.loads(job.args), json.loads(job.kwargs)) == ([[1, 2.5]], {"x": {"é": [None, True]}})
    assert job.created_at == Job.objects.get().created_at
