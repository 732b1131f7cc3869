"""conveyor_explain of jobs that have ended, and of none."""

from __future__ import annotations

import pytest

from conveyor_django import cancel
from conveyor_django.operate.explain import explain

from ..support.factories import AttemptFactory
from ..support.workflows import WorkflowFactory, callback, child_of, member
from .conftest import codes, known_job, only_reason

pytestmark = pytest.mark.django_db


def test_there_is_no_such_job() -> None:
    explanation = explain(1_000_000)
    assert codes(explanation) == ["no_such_job"]
    assert explanation.state is None
    assert explanation.headline == "job default:1000000 does not exist"


@pytest.mark.parametrize("given", ["other:1", "x", 0, 2**63])
def test_what_names_no_job_is_refused(given: int | str) -> None:
    with pytest.raises(ValueError, match="names no job of database"):
        explain(given)


def test_it_has_succeeded() -> None:
    # Its first run was lost.
    job = known_job(succeeded=True, lost_count=1)
    reason = only_reason(job)
    assert reason.code == "succeeded"
    assert "in run 2" in reason.text
    assert explain(job.pk).headline == (
        f"job default:{job.pk} (tests.support.produce.anything) of queue 'default' has succeeded"
    )


def test_its_attempts_are_used_up() -> None:
    job = known_job(failed=True, attempt=5)
    AttemptFactory(job=job, verb="fail", error_class="shop.BankClosed", message="closed\nuntil Monday")
    reason = only_reason(job)
    assert reason.code == "attempts_used"
    assert reason.text.endswith("all of its 5 attempts are used up. Its last run: shop.BankClosed: closed")
    assert reason.remedy.endswith(f"manage.py conveyor_retry default:{job.pk}")


def test_its_error_was_not_to_be_retried() -> None:
    job = known_job(failed=True, attempt=1)
    AttemptFactory(job=job, verb="fail")
    reason = only_reason(job)
    assert reason.code == "failed_for_good"
    assert "in attempt 1 of 5" in reason.text
    assert "builtins.ValueError: no" in reason.text


def test_it_was_lost_too_often() -> None:
    job = known_job(failed=True, lost_count=3, attempt=0)
    AttemptFactory(job=job, verb="rescue", error_class="conveyor_django.errors.LeaseLost", message="the lease lapsed")
    reason = only_reason(job)
    assert reason.code == "lost_too_often"
    assert "in 3 runs (CONVEYOR['MAX_LOST'] is 3)" in reason.text


def test_it_was_given_back_too_often() -> None:
    job = known_job(failed=True, release_count=101)
    AttemptFactory(job=job, verb="release", error_class="", message="its worker stopped before it had ended")
    reason = only_reason(job)
    assert reason.code == "released_too_often"
    assert "101 times" in reason.text
    assert "its worker stopped before it had ended" in reason.text


def test_an_older_run_s_error_is_not_taken_for_the_last_one_s() -> None:
    job = known_job(failed=True, attempt=5, lease_version=9)
    AttemptFactory(job=job, lease_version=8, verb="rescue", message="long ago")
    reason = only_reason(job)
    assert reason.code == "attempts_used"
    assert "long ago" not in reason.text


def test_it_was_cancelled_by_somebody() -> None:
    job = known_job()
    cancel(job.pk)
    reason = only_reason(job)
    assert reason.code == "cancelled"
    assert "somebody asked for it" in reason.text
    assert "before it ran" in reason.text


def test_it_was_cancelled_by_its_handler() -> None:
    job = known_job(cancelled=True, cancel_requested_at=None, lease_version=1)
    AttemptFactory(job=job, verb="cancel", error_class="conveyor_django.endings.Cancel", message="no longer wanted")
    assert "its handler ended so: conveyor_django.endings.Cancel: no longer wanted" in only_reason(job).text


def test_it_was_cancelled_since_a_job_that_it_needs_failed() -> None:
    needed = member(WorkflowFactory(), "failed")
    child = child_of(needed, state="cancelled", cancel_requested_at=None)
    assert f"a job that it needs failed or was cancelled ({needed.pk})" in only_reason(child).text


def test_it_was_cancelled_since_its_workflow_ended_otherwise() -> None:
    unwanted = callback(WorkflowFactory(), "on_failure", "cancelled", cancel_requested_at=None)
    assert "has ended in another way than on_failure" in only_reason(unwanted).text
