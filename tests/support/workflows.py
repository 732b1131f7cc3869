"""Workflows in any state, made row by row, and the proof that nothing of them waits for ever."""

from __future__ import annotations

from typing import Any

import factory
from factory.django import DjangoModelFactory

from conveyor_django.managers.release import sweep_until_clean
from conveyor_django.models import Dependency, Job, Workflow

from .factories import JobFactory, PayloadFactory, utc_now


class WorkflowFactory(DjangoModelFactory[Workflow]):
    """A workflow that goes on."""

    class Meta:
        model = Workflow

    name = "order"
    created_at = factory.LazyFunction(utc_now)


def member(workflow: Workflow, state: str = "ready", *, name: str | None = None, **fields: Any) -> Job:
    """Make a job of the workflow, in any state."""
    traits = {} if state == "ready" else {state: True}
    job = JobFactory(**traits, workflow=workflow, payload=None, **fields)
    PayloadFactory(job=job, name=name)
    return job


def callback(workflow: Workflow, role: str, state: str = "blocked", **fields: Any) -> Job:
    """Make a callback of the workflow."""
    return member(workflow, state, workflow_role=role, **fields)


def child_of(*parents: Job, on_failure: str = "cancel", state: str = "blocked", **fields: Any) -> Job:
    """Make a job that needs these."""
    if state == "blocked":
        fields = {"pending_dependencies": len(parents)} | fields
    child = member(parents[0].workflow, state, **fields)
    for parent in parents:
        Dependency.objects.create(job=child, needs=parent, on_failure=on_failure)
    return child


def end(job: Job, state: str = "succeeded", **fields: Any) -> None:
    """End a job, as a statement does that knows nothing of workflows."""
    Job.objects.filter(pk=job.pk).update(
        **{"state": state, "finished_at": utc_now(), "lease_owner": None, "lease_expires_at": None} | fields
    )


def states(*jobs: Job) -> list[str]:
    """Return the jobs' states as they are stored."""
    stored = dict(Job.objects.filter(pk__in=[job.pk for job in jobs]).values_list("pk", "state"))
    return [stored[job.pk] for job in jobs]


def seen(job: Job) -> tuple[str, int]:
    """Return a job's state and how many it waits for, as they are stored."""
    return Job.objects.values_list("state", "pending_dependencies").get(pk=job.pk)


def assert_nothing_stuck(alias: str = "default") -> None:
    """Let the sweep do what is left, and prove that every blocked job waits for one that has not ended."""
    sweep_until_clean(alias=alias)
    assert Workflow.objects.db_manager(alias).find_stuck(limit=100) == []


def edges() -> set[tuple[int, int, str]]:
    """Return every stored edge: the job, what it needs, and the policy."""
    return set(Dependency.objects.values_list("job_id", "needs_id", "on_failure"))
