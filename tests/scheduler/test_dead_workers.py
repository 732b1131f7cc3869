"""Dead workers: found by their lost lock or by their silence, and taken over until nothing is left."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django.conf import ConveyorSettings
from conveyor_django.managers.workers import application_name
from conveyor_django.models import Attempt, Job, Worker
from conveyor_django.scheduler.dead_workers import DeadWorkers

from ..support.factories import JobFactory, WorkerFactory, utc_now
from ..support.waits import backend_pid, wait_until_gone

pytestmark = pytest.mark.django_db(transaction=True)

# The lock counts only once the server has been up for a lease, which a test's fresh server may not have been.
SHORT_LEASE = 0.001


@pytest.fixture
def seen():
    """The instant at which every worker was seen, and which every look takes for now: nobody is silent."""
    return utc_now()


@pytest.fixture
def duty(seen):
    return DeadWorkers(alias="default", settings=ConveyorSettings(), now=lambda: seen)


@pytest.fixture
def worker(seen):
    """A worker that says it holds its lock."""
    return WorkerFactory(lease_seconds=SHORT_LEASE, last_seen=seen, holds_lock=True)


@pytest.fixture
def silent():
    """A worker that has not been seen for longer than its lease, behind a pooler: without a lock."""
    return WorkerFactory(lease_seconds=SHORT_LEASE)


def lock(worker, connection):
    assert Worker.objects.hold_worker_lock(incarnation=worker.incarnation, on=connection)


def test_a_worker_whose_session_is_gone_is_dead_at_the_second_look(
    *, duty, worker, connect, connection, watcher, listener
):
    session = connect(application_name(worker.incarnation, "heartbeat"))
    lock(worker, session)
    job = JobFactory(running=True, lease_owner=worker.incarnation, queue="a")
    pid = backend_pid(session)
    session.close()
    wait_until_gone(watcher, pid)

    assert duty.look_once(connection).changed == 0
    job.refresh_from_db()
    assert (job.state, Worker.objects.count()) == ("running", 1)

    assert duty.look_once(connection).changed == 1
    job.refresh_from_db()
    assert (job.state, job.lost_count, Worker.objects.count()) == ("ready", 1, 0)
    assert Attempt.objects.get(job=job).message == "its worker died"
    assert listener.heard() == ["a"]


def test_a_worker_that_holds_its_lock_lives(duty, worker, connect, connection):
    lock(worker, connect())
    job = JobFactory(running=True, lease_owner=worker.incarnation)
    for _ in range(3):
        assert duty.look_once(connection).changed == 0
    job.refresh_from_db()
    assert (job.state, Worker.objects.count()) == ("running", 1)


def test_two_looks_in_a_row_must_miss_the_lock(duty, worker, connect, connection, watcher):
    duty.look_once(connection)
    session = connect()
    lock(worker, session)
    duty.look_once(connection)
    pid = backend_pid(session)
    session.close()
    wait_until_gone(watcher, pid)
    duty.look_once(connection)
    assert Worker.objects.count() == 1
    duty.look_once(connection)
    assert Worker.objects.count() == 0


def test_a_worker_without_a_lock_is_left_to_its_lease(duty, connection, seen):
    WorkerFactory(lease_seconds=SHORT_LEASE, last_seen=seen, holds_lock=False)
    for _ in range(3):
        duty.look_once(connection)
    assert Worker.objects.count() == 1


def test_a_silent_worker_is_dead_at_the_first_look(silent, connection, listener, caplog):
    job = JobFactory(running=True, lease_owner=silent.incarnation, queue="a")
    other = JobFactory(running=True)
    duty = DeadWorkers(alias="default", settings=ConveyorSettings())
    look = duty.look_once(connection)
    assert (look.changed, look.wait) == (1, None)
    job.refresh_from_db()
    other.refresh_from_db()
    assert (job.state, other.state, Worker.objects.count()) == ("ready", "running", 0)
    assert listener.heard() == ["a"]
    events = [record.conveyor["event"] for record in caplog.records]
    assert events == ["job.rescued", "worker.dead"]
    assert caplog.records[1].conveyor["worker"] == silent.incarnation


def test_its_sessions_end_and_it_is_taken_over_again_until_none_is_left(silent, connect, connection, watcher, listener):
    duty = DeadWorkers(alias="default", settings=ConveyorSettings())
    session = connect(application_name(silent.incarnation, "claim"))
    in_flight, late = JobFactory(), JobFactory(queue="late")
    session.execute("BEGIN")
    # Claimed, not committed: the look cannot see it, so only the end of the session keeps it from committing.
    claimed = Job.objects.claim_jobs(owner=silent.incarnation, queues={"default": 30.0}, limit=1, on=session)
    assert [job.id for job in claimed] == [in_flight.pk]

    look = duty.look_once(connection)
    assert (look.changed, look.wait, Worker.objects.count()) == (0, 0.0, 1)
    wait_until_gone(watcher, backend_pid(session))
    in_flight.refresh_from_db()
    assert (in_flight.state, in_flight.lease_version) == ("ready", 0)

    # As if another session's claim had committed between that pass and its end.
    Job.objects.claim_jobs(owner=silent.incarnation, queues={"late": 30.0}, limit=1, on=connection)
    look = duty.look_once(connection)
    assert (look.changed, look.wait, Worker.objects.count()) == (1, None, 0)
    late.refresh_from_db()
    assert (late.state, late.lost_count) == ("ready", 1)
    assert listener.heard() == ["late"]


def test_several_dead_workers_at_once(connection):
    owners = [WorkerFactory(lease_seconds=SHORT_LEASE).incarnation for _ in range(3)]
    for owner in owners:
        JobFactory.create_batch(2, running=True, lease_owner=owner)
    alive = WorkerFactory()
    look = DeadWorkers(alias="default", settings=ConveyorSettings()).look_once(connection)
    assert look.changed == 6
    assert list(Worker.objects.all()) == [alive]


def test_two_looks_are_apart_for_long_enough_to_reconnect():
    duty = DeadWorkers(alias="default", settings=ConveyorSettings(scheduler_seconds=3.0))
    assert duty.at_least == 1.5


def test_the_memory_of_a_missed_lock_is_of_one_scheduler(duty, worker, connection, seen):
    duty.look_once(connection)
    another = DeadWorkers(alias="default", settings=ConveyorSettings(), now=lambda: seen)
    another.look_once(connection)
    assert Worker.objects.filter(incarnation=worker.incarnation).exists()
    assert isinstance(worker.incarnation, uuid.UUID)


def test_after_an_outage_a_missing_lock_proves_nothing_for_a_lease(worker, connection, seen):
    """A crash of one backend ends all sessions at once, while the server's start time stays: others reconnect too."""
    duty = DeadWorkers(alias="default", settings=ConveyorSettings(), now=lambda: seen, after_outage=True)
    for _ in range(3):
        assert duty.look_once(connection).changed == 0
    assert Worker.objects.filter(pk=worker.pk).exists()


def test_after_an_outage_silence_still_counts(silent, connection):
    duty = DeadWorkers(alias="default", settings=ConveyorSettings(), after_outage=True)
    duty.look_once(connection)
    assert not Worker.objects.filter(pk=silent.pk).exists()
