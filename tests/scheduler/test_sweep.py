"""Sweep: what no worker released or finished, and whom to wake for it."""

from __future__ import annotations

import datetime as dt

import pytest

from conveyor_django.conf import ConveyorSettings
from conveyor_django.managers import release
from conveyor_django.models import Job, Workflow
from conveyor_django.scheduler.sweep import Sweep

from ..support.barriers import at_once
from ..support.waits import wait_until
from ..support.workflows import WorkflowFactory, assert_nothing_stuck, callback, child_of, end, member, states

pytestmark = pytest.mark.django_db(transaction=True)

NOW = dt.datetime(2031, 5, 6, 7, 8, 9, tzinfo=dt.UTC)


@pytest.fixture
def duty():
    return Sweep(alias="default", settings=ConveyorSettings(), now=lambda: NOW)


def late_chain(length: int) -> list[Job]:
    """Make a chain below a job that had ended before its dependant was there."""
    jobs = [member(WorkflowFactory(), "succeeded")]
    for _ in range(length):
        jobs.append(child_of(jobs[-1], queue="late"))
    return jobs


def test_a_late_release_wakes_its_queue(duty, connection, listener):
    _, child, grandchild = late_chain(2)
    look = duty.look_once(connection)
    assert (look.changed, look.more) == (1, True)
    assert states(child, grandchild) == ["ready", "blocked"]
    assert listener.heard() == ["late"]
    look = duty.look_once(connection)
    assert (look.changed, look.more) == (0, False)
    assert listener.heard() == []


def test_a_workflow_is_finished_at_its_instant(duty, connection, listener):
    workflow = WorkflowFactory()
    member(workflow, "failed")
    told = callback(workflow, "on_failure", queue="told")
    assert duty.look_once(connection).changed == 1
    assert states(told) == ["ready"]
    assert Workflow.objects.get().finished_at == NOW
    assert listener.heard() == ["told"]


def test_a_cascade_goes_on_to_its_end_and_to_the_callback(duty, connection, monkeypatch):
    """Look after look until nothing changes, however small the batches are."""
    monkeypatch.setattr(release, "BATCH", 1)
    workflow = WorkflowFactory()
    children = [child_of(member(workflow, "failed")) for _ in range(3)]
    told = callback(workflow, "on_failure")
    looks = 0
    while duty.look_once(connection).more:
        looks += 1
    assert looks >= 3
    assert states(*children, told) == ["cancelled"] * 3 + ["ready"]
    assert_nothing_stuck()


def test_what_somebody_holds_hides_nothing_behind_it(duty, connection, connect, monkeypatch):
    monkeypatch.setattr(release, "BATCH", 1)
    held, free = (child_of(member(WorkflowFactory(), "succeeded")) for _ in range(2))
    with connect().transaction() as holding:
        holding.connection.execute("SELECT FROM conveyor_job WHERE id = %s FOR UPDATE", (held.pk,))
        assert duty.look_once(connection).changed == 1
        assert states(held, free) == ["blocked", "ready"]
        assert not duty.look_once(connection).more
    assert duty.look_once(connection).changed == 1


def test_several_at_once_do_no_harm(connect):
    workflow = WorkflowFactory()
    parent, other = member(workflow, "succeeded"), member(workflow, "running")
    children = [child_of(parent, other) for _ in range(20)]
    duties = [(Sweep(alias="default", settings=ConveyorSettings()), connect()) for _ in range(4)]
    looks = at_once(*[lambda duty=duty, on=on: duty.look_once(on) for duty, on in duties])
    assert sum(look.changed for look in looks) == 20
    assert set(Job.objects.filter(state="blocked").values_list("pending_dependencies", flat=True)) == {1}
    end(other)
    assert set(states(*children)) == {"ready"}


def test_the_loop_sweeps(start_loop):
    _, child = late_chain(1)
    start_loop()
    wait_until(lambda: states(child) == ["ready"], "the sweep has released it")
