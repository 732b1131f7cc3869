"""list_needed: how each job ended that another needs."""

from __future__ import annotations

import pytest

from conveyor_django.models import Job, Ledger, Workflow

from ..support.factories import AttemptFactory, LedgerFactory
from ..support.workflows import WorkflowFactory, child_of, member

pytestmark = pytest.mark.django_db


def test_each_with_its_result_or_its_last_error() -> None:
    workflow = WorkflowFactory()
    paid = member(workflow, "succeeded", name="pay", ledger=None)
    LedgerFactory(job=paid, result={"ref": [1, None]})
    LedgerFactory(job=paid, step="authorise", result="a step's")
    failed = member(workflow, "failed", lease_version=2)
    AttemptFactory(job=failed, lease_version=1, message="the first")
    AttemptFactory(job=failed, lease_version=2, message="the last")
    cancelled = member(workflow, "cancelled", name="ship")
    goes_on = member(workflow, "running")
    AttemptFactory(job=goes_on, lease_version=1, message="of a run that is tried again")
    child = child_of(paid, failed, cancelled, goes_on, on_failure="run")
    assert Workflow.objects.list_needed(child.pk) == [
        (paid.pk, "pay", "succeeded", "run", {"ref": [1, None]}, None, None),
        (failed.pk, None, "failed", "run", None, "builtins.ValueError", "the last"),
        (cancelled.pk, "ship", "cancelled", "run", None, None, None),
        (goes_on.pk, None, "running", "run", None, None, None),
    ]


def test_one_that_is_gone() -> None:
    gone = member(WorkflowFactory(), "succeeded", name="pay")
    child = child_of(gone, state="ready")
    Job.objects.filter(pk=gone.pk)._raw_delete("default")
    assert [row[:3] for row in Workflow.objects.list_needed(child.pk)] == [(gone.pk, "pay", None)]


def test_a_job_that_needs_nobody() -> None:
    job = member(WorkflowFactory(), "succeeded")
    assert Ledger.objects.filter(job_id=job.pk).exists()
    assert Workflow.objects.list_needed(job.pk) == []
