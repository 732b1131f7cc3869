"""resolve_edges, and the trigger that calls the same function in the statement that ends a job (rule 10)."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable

import pytest

from conveyor_django.models import Dependency, Job, Workflow
from conveyor_django.outcomes import Cancel, Fail, Release, Retry, Succeed

from ..support.connections import Connect
from ..support.factories import ERROR, JobFactory
from ..support.workflows import WorkflowFactory, assert_nothing_stuck, child_of, end, member, seen, states
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_stuck(db: None):
    yield
    assert_nothing_stuck()


@pytest.fixture
def parent() -> Job:
    return member(WorkflowFactory(), "running")


# -- every way to end a job --------------------------------------------------------------------------------------


def ended_by(job: Job, kind: type, **bounds: int) -> None:
    outcome = kind(id=job.pk, version=job.lease_version, error=ERROR)
    Job.objects.end_attempts([outcome], owner=job.lease_owner, **{"keep": 100, "max_releases": 100} | bounds)


def rescued(job: Job) -> None:
    later = job.lease_expires_at + dt.timedelta(seconds=1)
    Job.objects.rescue_jobs(limit=10, max_lost=1, now=later)


ENDS: dict[str, tuple[Callable[[Job], object], str]] = {
    "succeed_jobs": (
        lambda job: Job.objects.succeed_jobs([Succeed(id=job.pk, version=1)], owner=job.lease_owner), "succeeded",
    ),
    "end_attempts: fail": (lambda job: ended_by(job, Fail), "failed"),
    "end_attempts: cancel": (lambda job: ended_by(job, Cancel), "cancelled"),
    "end_attempts: a retry that became a cancel": (
        lambda job: (Job.objects.cancel_job(job.pk), ended_by(job, Retry)), "cancelled",
    ),
    "end_attempts: one release too many": (lambda job: ended_by(job, Release, max_releases=0), "failed"),
    "rescue_jobs": (rescued, "failed"),
    "rescue_owner": (
        lambda job: Job.objects.rescue_owner(owner=job.lease_owner, max_lost=1, max_releases=9, reason="r"), "failed",
    ),
    "release_unknown": (
        lambda job: Job.objects.release_unknown(owner=job.lease_owner, known=[], max_releases=0), "failed",
    ),
    "cancel_job": (
        lambda job: (Job.objects.filter(pk=job.pk).update(state="ready", lease_owner=None, lease_expires_at=None),
                     Job.objects.cancel_job(job.pk)), "cancelled",
    ),
    "an older release's statement": (lambda job: end(job, "failed"), "failed"),
}  # fmt: skip


@pytest.mark.parametrize(("how", "state"), ENDS.values(), ids=ENDS)
def test_whatever_ends_the_job_needed_releases_its_dependants(
    parent: Job, how: Callable[[Job], object], state: str
) -> None:
    strict = child_of(parent)
    told = child_of(parent, on_failure="run")
    careless = child_of(parent, on_failure="ignore")
    how(parent)
    assert states(parent, strict, told, careless) == [
        state, "ready" if state == "succeeded" else "cancelled", "ready", "ready",
    ]  # fmt: skip
    assert set(Dependency.objects.values_list("resolved", flat=True)) == {True}


@pytest.mark.parametrize("kind", [Retry, Release])
def test_a_run_that_is_not_the_last_releases_nobody(parent: Job, kind: type) -> None:
    child = child_of(parent)
    ended_by(parent, kind)
    assert seen(child) == ("blocked", 1)


# -- counting ----------------------------------------------------------------------------------------------------


def test_a_child_waits_for_all_of_them() -> None:
    workflow = WorkflowFactory()
    parents = [member(workflow, "running") for _ in range(3)]
    child = child_of(*parents)
    counts = []
    for parent in parents:
        end(parent)
        counts.append(seen(child))
    assert counts == [("blocked", 2), ("blocked", 1), ("ready", 0)]


def test_parents_that_end_in_one_statement() -> None:
    """Each fires the trigger by itself, and each is counted."""
    workflow = WorkflowFactory()
    parents = [member(workflow, "running") for _ in range(3)]
    one_more = member(workflow, "running")
    child, other = child_of(*parents), child_of(*parents, one_more)
    Job.objects.filter(pk__in=[job.pk for job in parents]).update(
        state="succeeded", finished_at=NOW, lease_owner=None, lease_expires_at=None
    )
    assert (seen(child), seen(other)) == (("ready", 0), ("blocked", 1))


def test_an_edge_counts_once(parent: Job) -> None:
    child = child_of(parent, member(parent.workflow, "running"), on_failure="run")
    end(parent, "failed")
    assert Workflow.objects.resolve_edges([parent.pk, parent.pk]) == []
    # It is put back by hand, and ends again.
    Job.objects.requeue_jobs([parent.pk])
    Job.objects.cancel_job(parent.pk)
    assert seen(child) == ("blocked", 1)


def test_only_the_edges_of_the_job_that_ended(parent: Job) -> None:
    other = member(parent.workflow, "running")
    mine, theirs = child_of(parent), child_of(other)
    end(parent)
    assert states(mine, theirs) == ["ready", "blocked"]
    assert set(Dependency.objects.values_list("needs_id", "resolved")) == {(parent.pk, True), (other.pk, False)}


# -- what becomes of the child -----------------------------------------------------------------------------------


def test_it_is_ready_behind_those_that_are_ready_already(parent: Job) -> None:
    child = child_of(parent)
    before = JobFactory()
    end(parent)
    assert Job.objects.get(pk=child.pk).ready_seq > before.ready_seq


@pytest.mark.parametrize(("seconds", "state"), [(1, "scheduled"), (0, "ready"), (-1, "ready")])
def test_its_own_time_may_lie_ahead(parent: Job, seconds: int, state: str) -> None:
    """By the instant of the end, so that a test's clock counts."""
    child = child_of(parent, run_at=NOW + dt.timedelta(seconds=seconds))
    end(parent, finished_at=NOW)
    assert seen(child) == (state, 0)


def test_a_dependant_is_cancelled_at_the_instant_of_the_failure(parent: Job) -> None:
    child = child_of(parent, member(parent.workflow, "running"))
    end(parent, "failed", finished_at=NOW)
    stored = Job.objects.get(pk=child.pk)
    assert (stored.state, stored.finished_at, stored.pending_dependencies) == ("cancelled", NOW, 1)


@pytest.mark.parametrize("state", ["ready", "running", "succeeded", "failed", "cancelled", "scheduled"])
def test_one_that_is_not_blocked_is_only_counted(parent: Job, state: str) -> None:
    """Put back by hand, or cancelled: that other jobs end changes nothing but the count."""
    child = child_of(parent, state=state, pending_dependencies=1, on_failure="cancel")
    before = Job.objects.values().get(pk=child.pk)
    end(parent, "failed")
    assert Job.objects.values().get(pk=child.pk) == before | {"pending_dependencies": 0}
    assert Dependency.objects.get().resolved


def test_a_job_of_no_workflow_looks_for_nobody() -> None:
    alone = JobFactory(running=True)
    child = member(WorkflowFactory(), "blocked")
    Dependency.objects.create(job=child, needs=alone)
    end(alone)
    assert seen(child) == ("blocked", 1)
    # The sweep has no such limit.
    assert Workflow.objects.resolve_edges([alone.pk]) == [(child.pk, "default", "ready")]


# -- cascades ----------------------------------------------------------------------------------------------------


def chain(first: Job, length: int) -> list[Job]:
    jobs = [first]
    for _ in range(length):
        jobs.append(child_of(jobs[-1]))
    return jobs


def test_a_cancelled_dependant_cancels_its_own(parent: Job) -> None:
    jobs = chain(parent, 5)
    told = child_of(jobs[3], on_failure="run")
    end(parent, "failed", finished_at=NOW)
    assert set(states(*jobs[1:])) == {"cancelled"}
    assert states(told) == ["ready"]
    assert set(Job.objects.filter(state="cancelled").values_list("finished_at", flat=True)) == {NOW}


def test_a_diamond_below_a_failure(parent: Job) -> None:
    """Its last job has two edges resolved at once: it is lowered by their count."""
    left, right = child_of(parent), child_of(parent)
    last = child_of(left, right, on_failure="run")
    end(parent, "failed")
    assert states(left, right) == ["cancelled", "cancelled"]
    assert seen(last) == ("ready", 0)


def test_what_lies_deeper_than_a_hundred_levels_is_left_to_the_sweep(parent: Job) -> None:
    jobs = chain(parent, 250)
    end(parent, "failed")
    assert Job.objects.filter(state="cancelled").count() == 100
    late = Workflow.objects.find_late_edges(limit=10)
    assert late == [jobs[100].pk]
    assert {job.state for job in Workflow.objects.resolve_edges(late)} == {"cancelled"}
    assert_nothing_stuck()
    assert set(states(*jobs[1:])) == {"cancelled"}


# -- late --------------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_child_whose_row_is_locked_is_released_later(parent: Job, connect: Connect) -> None:
    """The statement that ends its parent neither waits nor counts what it could not lock."""
    child, free = child_of(parent), child_of(parent)
    somebody, finisher = connect(), connect()
    with somebody.transaction():
        somebody.execute("SELECT FROM conveyor_job WHERE id = %s FOR UPDATE", (child.pk,))
        finisher.execute("SET statement_timeout = '10s'")
        succeed = [Succeed(id=parent.pk, version=1)]
        assert set(Job.objects.succeed_jobs(succeed, owner=parent.lease_owner, on=finisher).values()) == {"won"}
        assert Workflow.objects.resolve_edges([parent.pk], on=finisher) == []
    assert (seen(child), seen(free)) == (("blocked", 1), ("ready", 0))
    assert Workflow.objects.resolve_edges([parent.pk]) == [(child.pk, "default", "ready")]


def test_of_a_job_that_has_not_ended_nothing_is_resolved(parent: Job) -> None:
    child = child_of(parent)
    assert Workflow.objects.resolve_edges([parent.pk]) == []
    assert seen(child) == ("blocked", 1)


def test_a_job_that_is_gone_counts_as_cancelled(parent: Job) -> None:
    """Nobody can say any more that it succeeded."""
    child, told = child_of(parent), child_of(parent, on_failure="run")
    Job.objects.filter(pk=parent.pk)._raw_delete("default")
    changed = Workflow.objects.resolve_edges([parent.pk], now=NOW)
    assert {job.id: job.state for job in changed} == {child.pk: "cancelled", told.pk: "ready"}
    assert Job.objects.get(pk=child.pk).finished_at == NOW


def test_by_the_database_s_clock_unless_told(parent: Job, clock: Clock) -> None:
    child = child_of(parent)
    Job.objects.filter(pk=parent.pk)._raw_delete("default")
    with clock() as window:
        Workflow.objects.resolve_edges([parent.pk])
    assert Job.objects.get(pk=child.pk).finished_at in window


def test_of_nobody() -> None:
    assert Workflow.objects.resolve_edges([]) == []
    assert Workflow.objects.resolve_edges([404]) == []


def test_a_zombie_s_outcome_releases_nobody(parent: Job) -> None:
    child = child_of(parent)
    Job.objects.succeed_jobs([Succeed(id=parent.pk, version=1)], owner=uuid.uuid4())
    assert seen(child) == ("blocked", 1)
