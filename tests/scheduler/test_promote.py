"""Promote: due jobs become ready, once, and their queues are woken."""

from __future__ import annotations

import datetime as dt

import pytest

from conveyor_django.conf import ConveyorSettings
from conveyor_django.models import Job
from conveyor_django.scheduler import promote
from conveyor_django.scheduler.promote import Promote

from ..support.barriers import at_once
from ..support.connections import scalar
from ..support.factories import JobFactory, in_seconds

pytestmark = pytest.mark.django_db(transaction=True)

# Far from any clock, so that a duty that ignores `now` cannot pass.
NOW = dt.datetime(2031, 5, 6, 7, 8, 9, tzinfo=dt.UTC)


def after(seconds: float) -> dt.datetime:
    return NOW + dt.timedelta(seconds=seconds)


@pytest.fixture
def duty():
    return Promote(alias="default", settings=ConveyorSettings(scheduler_seconds=1.0), now=lambda: NOW)


def states() -> list[str]:
    return list(Job.objects.order_by("id").values_list("state", flat=True))


def test_due_jobs_become_ready_and_their_queues_are_woken(duty, connection, listener):
    JobFactory(scheduled=True, run_at=NOW, queue="a")
    JobFactory(scheduled=True, run_at=after(-5), queue="b")
    JobFactory(scheduled=True, run_at=after(+5), queue="c")
    look = duty.look_once(connection)
    assert (look.changed, look.more) == (2, False)
    assert states() == ["ready", "ready", "scheduled"]
    assert listener.heard() == ["a", "b"]


def test_nobody_is_woken_for_nothing(duty, connection, listener):
    JobFactory(scheduled=True, run_at=after(+5))
    assert duty.look_once(connection).changed == 0
    assert listener.heard() == []


def test_by_the_database_s_clock_unless_told(connection):
    JobFactory(scheduled=True, run_at=in_seconds(-1))
    JobFactory(scheduled=True, run_at=in_seconds(3600))
    assert Promote(alias="default", settings=ConveyorSettings()).look_once(connection).changed == 1
    assert states() == ["ready", "scheduled"]


def test_a_full_batch_means_more(duty, connection, monkeypatch):
    monkeypatch.setattr(promote, "BATCH", 2)
    JobFactory.create_batch(3, scheduled=True, run_at=NOW)
    first, second = duty.look_once(connection), duty.look_once(connection)
    assert (first.changed, first.more) == (2, True)
    assert (second.changed, second.more) == (1, False)


def test_the_next_look_is_due_when_the_next_job_is(duty, connection):
    JobFactory(scheduled=True, run_at=after(0.25))
    JobFactory(scheduled=True, run_at=after(0.75))
    assert duty.look_once(connection).wait == 0.25


def test_without_a_scheduled_job_the_next_look_is_as_usual(duty, connection):
    JobFactory()
    assert duty.look_once(connection).wait is None


@pytest.mark.parametrize(("overdue", "wait"), [(0.5, 0.0), (5.0, None)])
def test_a_job_that_somebody_holds_is_passed_by_and_soon_not_hurried_for(duty, connection, plain, overdue, wait):
    held = JobFactory(scheduled=True, run_at=after(-overdue))
    free = JobFactory(scheduled=True, run_at=NOW)
    with plain.transaction():
        plain.execute("SELECT FROM conveyor_job WHERE id = %s FOR UPDATE", (held.pk,))
        look = duty.look_once(connection)
    assert (look.changed, look.wait) == (1, wait)
    free.refresh_from_db()
    assert free.state == "ready"
    assert duty.look_once(connection).changed == 1


def test_two_schedulers_at_once_promote_each_job_once(connect, monkeypatch):
    monkeypatch.setattr(promote, "BATCH", 7)
    JobFactory.create_batch(100, scheduled=True, run_at=in_seconds(-1))

    def schedule(name: str) -> int:
        connection = connect(name)
        duty = Promote(alias="default", settings=ConveyorSettings())
        promoted = 0
        while scalar(connection, "SELECT count(*) FROM conveyor_job WHERE state = 'scheduled'"):
            promoted += duty.look_once(connection).changed
        return promoted

    assert sum(at_once(lambda: schedule("one"), lambda: schedule("other"))) == 100
    assert states() == ["ready"] * 100
    assert len(set(Job.objects.values_list("ready_seq", flat=True))) == 100


def test_a_look_is_nothing_while_another_scheduler_is_at_it(duty, connection, plain):
    JobFactory(scheduled=True, run_at=NOW)
    with plain.transaction():
        Promote(alias="default", settings=ConveyorSettings(), now=lambda: after(-60)).look_once(plain)
        look = duty.look_once(connection)
    assert (look.changed, look.more) == (0, False)
    assert duty.look_once(connection).changed == 1
