"""The heartbeat hears of cancelled jobs: the database's answer to a renewal says so."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

import pytest

from conveyor_django.models import Job, Worker
from conveyor_django.worker.board import Board
from conveyor_django.worker.heartbeat import Heartbeat
from conveyor_django.worker.inflight import Held, InFlight
from conveyor_django.worker.plan import QueuePlan
from tests.support.factories import ready_jobs
from tests.support.waits import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

# Beats are minutes apart, unless it is woken.
LEASE = 600.0


class Bench:
    """A heartbeat that holds jobs which no handler runs."""

    def __init__(self) -> None:
        self.owner = uuid.uuid4()
        self.inflight = InFlight()
        self.board, self.file = Board.create(4)
        self.errors: list[BaseException] = []
        self.ended: list[Held] = []
        self.drains: list[bool] = []
        self.beats: list[int] = []
        self.heartbeat = Heartbeat(
            owner=self.owner, slots=4, supervisor_pid=1,
            plan=QueuePlan(["default"], alias="default", lease_seconds=LEASE), inflight=self.inflight,
            board=self.board, on_pruned=lambda: self.errors.append(AssertionError("pruned")),
            on_drain=lambda: self.drains.append(self.heartbeat.draining), on_cancelled=self.ended.append,
            on_beat=lambda: self.beats.append(1),
            alias="default", application_name="conveyor test heartbeat", lease_seconds=LEASE,
            on_error=lambda _loop, error: self.errors.append(error),
        )  # fmt: skip

    def hold(self, count: int) -> list[Held]:
        ready_jobs(count)
        claimed = Job.objects.claim_jobs(owner=self.owner, queues={"default": LEASE}, limit=count)
        return self.inflight.add(claimed, sent_at=0.0)

    def beat(self) -> None:
        """Beat once more, from its beginning to its end."""
        renewed = [held.deadline for held in self.inflight.all()]
        self.heartbeat.wake()
        wait_until(lambda: [held.deadline for held in self.inflight.all()] != renewed, "the leases are renewed")


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.heartbeat.stop()
    assert made.heartbeat.join(10)
    made.file.close()
    assert made.errors == []


def test_a_running_handler_is_interrupted_once_and_its_lease_is_kept(bench):
    cancelled, other = bench.hold(2)
    interrupted = []
    for held in (cancelled, other):
        assert held.take()
        held.interrupt = lambda job_id=held.claimed.id: interrupted.append(job_id)
    Job.objects.cancel_job(cancelled.claimed.id)
    bench.heartbeat.start()
    wait_until(lambda: cancelled.cancelled, "it has heard")
    bench.beat()
    bench.beat()
    assert interrupted == [cancelled.claimed.id]
    assert (cancelled.lapsed, other.must_end, bench.ended) == (False, False, [])


def test_a_job_that_has_not_started_is_ended_without_a_run(bench):
    [held] = bench.hold(1)
    Job.objects.cancel_job(held.claimed.id)
    bench.heartbeat.start()
    wait_until(lambda: bench.ended == [held], "it is ended")
    assert not held.take()


def test_one_whose_success_is_being_committed_is_left_alone(bench):
    done, running = bench.hold(2)
    for held in (done, running):
        held.take()
    done.settle()
    for held in (done, running):
        Job.objects.cancel_job(held.claimed.id)
    bench.heartbeat.start()
    wait_until(lambda: running.cancelled, "it has heard")
    assert not done.cancelled


def test_it_is_fresh_from_its_registration_until_it_finds_itself_pruned(bench):
    assert not bench.heartbeat.is_fresh
    bench.heartbeat.start()
    wait_until(bench.heartbeat.registered.is_set, "it is registered")
    assert bench.heartbeat.is_fresh
    Worker.objects.filter(incarnation=bench.owner).delete()
    bench.heartbeat.wake()
    wait_until(lambda: bool(bench.errors), "it has found out")
    assert not bench.heartbeat.is_fresh
    bench.errors.clear()


def test_it_is_fresh_since_a_moment_by_a_beat_that_was_sent_later(bench):
    bench.heartbeat.start()
    wait_until(bench.heartbeat.registered.is_set, "it is registered")
    assert not bench.heartbeat.is_fresh_since(time.monotonic() + LEASE)
    moment = time.monotonic()
    bench.heartbeat.wake()
    wait_until(lambda: bench.heartbeat.is_fresh_since(moment), "a beat that was sent since has been taken")
    wait_until(lambda: bool(bench.beats), "somebody was told of it")


def test_it_is_not_fresh_a_lease_after_its_last_beat(bench, monkeypatch):
    bench.heartbeat.start()
    wait_until(bench.heartbeat.registered.is_set, "it is registered")
    now = time.monotonic()
    monkeypatch.setattr("conveyor_django.worker.heartbeat.time.monotonic", lambda: now + LEASE)
    assert not bench.heartbeat.is_fresh


def test_it_hears_that_it_is_to_drain_until_it_does(bench):
    bench.hold(1)
    bench.heartbeat.start()
    wait_until(bench.heartbeat.registered.is_set, "it is registered")
    bench.beat()
    assert bench.drains == []
    Worker.objects.drain_workers([bench.owner])
    bench.beat()
    # Once or more: a beat may follow another at once.
    wait_until(lambda: bool(bench.drains), "it has heard")
    bench.heartbeat.draining = True
    bench.beat()
    heard = len(bench.drains)
    bench.beat()
    bench.beat()
    assert bench.drains == [False] * heard
