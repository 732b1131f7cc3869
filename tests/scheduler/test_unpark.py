"""The sweep behind the workers: no parked job stays so for longer than it must."""

from __future__ import annotations

import pytest

from conveyor_django.conf import ConveyorSettings
from conveyor_django.models import Job, PausedTask, Permit
from conveyor_django.scheduler import unpark
from conveyor_django.scheduler.loop import DUTIES
from conveyor_django.scheduler.unpark import Unpark

from ..support.factories import JobFactory, PausedTaskFactory, PermitFactory
from ..support.waits import wait_until


@pytest.fixture
def duty(transactional_db: None) -> Unpark:
    return Unpark(alias="default", settings=ConveyorSettings())


def in_line() -> set[int]:
    return set(Job.objects.filter(state="ready", parked=None).values_list("pk", flat=True))


def test_keys_with_a_free_permit_go_on(duty, connection, listener):
    PermitFactory(key="full", run=JobFactory(running=True))
    JobFactory(concurrency_key="full", parked="key")
    # As after a rescue that failed the job, or a worker that died after its last commit.
    free = JobFactory(queue="a", concurrency_key="free", parked="key")
    assert duty.look_once(connection).changed == 1
    assert in_line() == {free.pk}
    assert listener.heard() == ["a"]
    assert duty.look_once(connection).changed == 0
    assert listener.heard() == []


def test_tasks_that_are_not_paused_any_more_go_on(duty, connection, listener):
    PausedTaskFactory(task="paused")
    JobFactory(parked_by_task=True, task="paused")
    resumed = JobFactory(parked_by_task=True, task="resumed", queue="b")
    duty.look_once(connection)
    assert in_line() == {resumed.pk}
    assert listener.heard() == ["b"]


def test_a_look_takes_a_batch_of_keys_and_the_next_one_goes_on_from_there(duty, connection, monkeypatch):
    monkeypatch.setattr(unpark, "BATCH", 2)
    jobs = [JobFactory(concurrency_key=key, parked="key") for key in "abcde"]
    for seen in (2, 4, 5):
        duty.look_once(connection)
        assert in_line() == {job.pk for job in jobs[:seen]}
    Job.objects.filter(pk=jobs[0].pk).delete()
    again = JobFactory(concurrency_key="a", parked="key")
    duty.look_once(connection)
    assert again.pk in in_line()


def test_a_full_batch_of_tasks_is_followed_by_another_look_at_once(duty, connection, monkeypatch):
    monkeypatch.setattr(unpark, "BATCH", 2)
    JobFactory.create_batch(3, parked_by_task=True)
    assert [duty.look_once(connection).more for _ in range(2)] == [True, False]


def test_the_loop_does_it(start_loop):
    assert Unpark in DUTIES
    PausedTaskFactory()
    job = JobFactory(parked_by_task=True)
    start_loop()
    PausedTask.objects.all().delete()
    wait_until(lambda: in_line() == {job.pk}, "the sweep has put it back in line")


def test_idle_permits_are_pruned(connection, transactional_db):
    from conveyor_django.scheduler.prune import Prune

    PermitFactory(key="idle", taken_at="2020-01-01T00:00:00Z")
    PermitFactory(key="fresh")
    Prune(alias="default", settings=ConveyorSettings()).look_once(connection)
    assert list(Permit.objects.values_list("key", flat=True)) == ["fresh"]
