"""Rescue: jobs whose lease has lapsed are taken back."""

from __future__ import annotations

import logging

import pytest

from conveyor_django.conf import ConveyorSettings
from conveyor_django.models import Attempt
from conveyor_django.scheduler import rescue
from conveyor_django.scheduler.rescue import Rescue

from ..support.factories import JobFactory, in_seconds

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def duty():
    return Rescue(alias="default", settings=ConveyorSettings(max_lost=3))


def lines(caplog) -> list[tuple[str, int, int]]:
    """Return (event, job, level) of the lines about jobs."""
    return [(r.conveyor["event"], r.conveyor["job"], r.levelno) for r in caplog.records if "job" in r.conveyor]


def test_a_lapsed_job_is_ready_again_and_its_queue_woken(duty, connection, listener, caplog):
    job = JobFactory(lapsed=True, queue="a")
    alive = JobFactory(running=True, queue="b")
    owner = job.lease_owner
    look = duty.look_once(connection)
    assert (look.changed, look.more) == (1, False)
    job.refresh_from_db()
    alive.refresh_from_db()
    assert (job.state, job.lost_count, job.attempt, alive.state) == ("ready", 1, 0, "running")
    assert Attempt.objects.get(job=job).verb == "rescue"
    assert listener.heard() == ["a"]
    assert lines(caplog) == [("job.rescued", job.pk, logging.WARNING)]
    fields = caplog.records[0].conveyor
    assert (fields["version"], fields["owner"], fields["queue"]) == (1, owner, "a")


def test_a_job_lost_too_often_fails_and_wakes_nobody(duty, connection, listener, caplog):
    job = JobFactory(lapsed=True, lost_count=2)
    assert duty.look_once(connection).changed == 1
    job.refresh_from_db()
    assert (job.state, job.lost_count) == ("failed", 3)
    assert listener.heard() == []
    assert lines(caplog) == [("job.failed", job.pk, logging.ERROR)]


def test_a_job_that_was_to_be_cancelled_ends_so(duty, connection, listener, caplog):
    caplog.set_level(logging.INFO, "conveyor")
    job = JobFactory(lapsed=True, cancel_requested_at=in_seconds(-1))
    assert duty.look_once(connection).changed == 1
    job.refresh_from_db()
    assert job.state == "cancelled"
    assert listener.heard() == []
    assert lines(caplog) == [("job.cancelled", job.pk, logging.INFO)]


def test_a_full_batch_means_more(duty, connection, monkeypatch):
    monkeypatch.setattr(rescue, "BATCH", 2)
    JobFactory.create_batch(3, lapsed=True)
    first, second = duty.look_once(connection), duty.look_once(connection)
    assert (first.changed, first.more) == (2, True)
    assert (second.changed, second.more) == (1, False)


@pytest.mark.parametrize(("seconds", "rescued"), [(29, 0), (31, 1)])
def test_by_the_injected_clock(connection, seconds, rescued):
    JobFactory(running=True, lease_expires_at=in_seconds(30))
    duty = Rescue(alias="default", settings=ConveyorSettings(), now=lambda: in_seconds(seconds))
    assert duty.look_once(connection).changed == rescued
