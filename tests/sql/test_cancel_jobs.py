"""cancel_jobs: those that wait end at once, those that run get a request; what is locked or has ended is left."""

from __future__ import annotations

import datetime as dt

import pytest

from conveyor_django.models import Job

from ..support.connections import Connect
from ..support.factories import JobFactory
from ..support.workflows import WorkflowFactory, child_of, member, states
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


def test_each_by_its_state() -> None:
    waiting = [JobFactory(**trait) for trait in ({"blocked": True}, {"scheduled": True}, {}, {"parked_by_task": True})]
    running, bystander = JobFactory(running=True), JobFactory()
    ids = [job.pk for job in (*waiting, running)]
    assert Job.objects.cancel_jobs(ids, now=NOW) == dict.fromkeys(ids[:-1], "cancelled") | {running.pk: "running"}
    ended = Job.objects.filter(pk__in=ids[:-1]).values_list("state", "finished_at", "cancel_requested_at", "parked")
    assert set(ended) == {("cancelled", NOW, NOW, None)}
    bystander.refresh_from_db()
    assert (bystander.state, bystander.cancel_requested_at) == ("ready", None)


def test_a_running_job_gets_a_request_and_nothing_else() -> None:
    job = JobFactory(running=True)
    before = Job.objects.values().get()
    Job.objects.cancel_jobs([job.pk], now=NOW)
    after = Job.objects.values().get()
    assert {name for name in after if after[name] != before[name]} == {"cancel_requested_at"}
    Job.objects.cancel_jobs([job.pk], now=NOW + dt.timedelta(minutes=1))
    assert Job.objects.get().cancel_requested_at == NOW


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_an_ended_job_stays_as_it_is(state: str) -> None:
    job = JobFactory(**{state: True})
    before = Job.objects.values().get()
    assert Job.objects.cancel_jobs([job.pk, job.pk + 1]) == {}
    assert Job.objects.values().get() == before


def test_dependants_go_with_it_in_the_same_statement() -> None:
    parent = member(WorkflowFactory())
    child = child_of(parent)
    Job.objects.cancel_jobs([parent.pk, child.pk])
    assert states(parent, child) == ["cancelled", "cancelled"]


@pytest.mark.django_db(transaction=True)
def test_what_is_locked_is_not_waited_for(connect: Connect) -> None:
    locked, free = JobFactory(), JobFactory()
    other = connect()
    with other.transaction():
        other.execute("SELECT 1 FROM conveyor_job WHERE id = %s FOR UPDATE", (locked.pk,))
        assert Job.objects.cancel_jobs([locked.pk, free.pk]) == {free.pk: "cancelled"}
    assert states(locked, free) == ["ready", "cancelled"]


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    job = JobFactory()
    with clock() as window:
        Job.objects.cancel_jobs([job.pk])
    job.refresh_from_db()
    assert job.finished_at in window
    assert job.cancel_requested_at in window
