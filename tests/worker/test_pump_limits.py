"""The pump where caps and keys have a say. Its poll is a minute away, longer than any of these waits."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from conveyor_django.models import Job, PausedTask, Permit, Queue
from conveyor_django.worker.inflight import Held
from tests.support.factories import JobFactory, PermitFactory, new_job
from tests.support.pumps import SLOTS, Bench
from tests.support.waits import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

Start = Callable[..., Bench]


def enqueue(count: int, **fields: object) -> list[int]:
    """Enqueue jobs; return their ids."""
    accepted = Job.objects.enqueue_jobs([new_job(**fields) for _ in range(count)])
    return [entry.id for entry in accepted if entry is not None]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a pump."""
    benches: list[Bench] = []

    def started(*queues: str, **options: object) -> Bench:
        benches.append(Bench(uuid.uuid4(), *queues, **options))
        benches[-1].pump.start()
        return benches[-1]

    yield started
    for bench in benches:
        bench.stop()
        assert bench.errors == []


def finish(bench: Bench, jobs: int) -> list[Held]:
    """End one run after the other until so many have ended; return them in the order in which they began."""
    for place in range(jobs):
        bench.succeed(bench.wait_held(place + 1)[place])
    wait_until(lambda: not len(bench.inflight), "every outcome is written")
    return bench.hands.held


def running() -> int:
    return Job.objects.filter(state="running").count()


def test_jobs_of_one_key_run_one_after_the_other_in_their_order(start: Start) -> None:
    ids = enqueue(3, concurrency_key="k")
    [plain] = enqueue(1)
    bench = start()
    # Two claims at least: the first one finds no permits.
    assert {held.claimed.id for held in bench.wait_held(2)} == {ids[0], plain}
    wait_until(lambda: Job.objects.filter(parked="key").count() == 2, "the others are parked")
    assert running() == 2
    began = [held.claimed.id for held in finish(bench, 4)]
    assert [job for job in began if job != plain] == ids


def test_never_more_than_an_exact_cap(start: Start) -> None:
    Queue.objects.create(name="default", exact_cap=2)
    ids = enqueue(5)
    bench = start()
    bench.wait_held(2)
    for place in range(5):
        assert running() <= 2
        bench.succeed(bench.wait_held(place + 1)[place])
    wait_until(lambda: not len(bench.inflight), "every outcome is written")
    assert [held.claimed.id for held in bench.hands.held] == ids


def test_many_jobs_of_a_full_key_do_not_keep_others_waiting(start: Start) -> None:
    """Behind more of them than one claim moves out of the way."""
    PermitFactory(run=JobFactory(running=True))
    enqueue(1200, concurrency_key="k")
    [plain] = enqueue(1)
    bench = start()
    [held] = bench.wait_held(1)
    assert held.claimed.id == plain
    bench.succeed(held)


def test_a_drain_does_not_end_while_it_parks_or_a_key_is_its_own(start: Start) -> None:
    enqueue(700, concurrency_key="held elsewhere")
    PermitFactory(key="held elsewhere", run=JobFactory(running=True))
    ids = enqueue(3, concurrency_key="k")
    bench = start(drain=True)
    assert [held.claimed.id for held in finish(bench, 3)] == ids
    wait_until(bench.idle.is_set, "it is drained")
    assert Job.objects.filter(state="ready").count() == 700


def test_a_drain_ends_though_a_task_is_paused(start: Start) -> None:
    PausedTask.objects.create(task="shop.tasks.noop", paused_at="2031-01-01T00:00:00Z")
    enqueue(3)
    bench = start(drain=True)
    wait_until(bench.idle.is_set, "it is drained")
    assert Job.objects.filter(parked="task").count() == 3


def test_a_number_of_jobs_is_that_number_with_keys_too(start: Start) -> None:
    enqueue(5, concurrency_key="k")
    bench = start(max_jobs=2)
    finish(bench, 2)
    wait_until(bench.idle.is_set, "it has run its number")
    assert Job.objects.filter(state="ready").count() == 3
    assert len(bench.hands.held) == 2


def test_a_suspect_with_a_key(start: Start) -> None:
    """It was lost before, so it runs alone; its key waits for it."""
    first, second = enqueue(2, concurrency_key="k")
    [plain] = enqueue(1)
    Job.objects.filter(pk=first).update(lost_count=1)
    bench = start()
    [neighbour] = bench.wait_held(1)
    assert neighbour.claimed.id == plain
    bench.succeed(neighbour)
    began = [held.claimed.id for held in finish_from(bench, 1, 2)]
    assert began == [plain, first, second]


def finish_from(bench: Bench, place: int, jobs: int) -> list[Held]:
    for number in range(place, place + jobs):
        bench.succeed(bench.wait_held(number + 1)[number])
    wait_until(lambda: not len(bench.inflight), "every outcome is written")
    return bench.hands.held


def test_the_end_of_a_run_elsewhere_lets_this_one_s_key_go_on(start: Start) -> None:
    """Two workers: who ends the run puts the next job back in line, and either takes it."""
    ids = enqueue(4, concurrency_key="k")
    benches = [start(), start()]
    wait_until(lambda: sum(len(bench.hands.held) for bench in benches) == 1, "one of them has it")
    for number in range(4):
        wait_until(lambda n=number: sum(len(b.hands.held) for b in benches) == n + 1, "the next one runs")
        [bench] = [bench for bench in benches if len(bench.inflight)]
        bench.succeed(bench.hands.held[-1])
        wait_until(lambda b=bench, n=number: ids[n] not in {h.claimed.id for h in b.inflight.all()}, "it is written")
    assert sorted(held.claimed.id for bench in benches for held in bench.hands.held) == ids


def test_a_queue_with_a_huge_backlog_does_not_starve_another(start: Start) -> None:
    huge = enqueue(200, queue="huge")
    small = enqueue(5, queue="small")
    bench = start("huge", "small")
    bench.wait_held(SLOTS)
    for place in range(12):
        bench.succeed(bench.wait_held(place + 1)[place])
        bench.wait_held(SLOTS + place + 1)
    served = [held.claimed.id for held in bench.hands.held[: SLOTS + 10]]
    # The first look took all slots for the first queue; from then on they take turns.
    assert set(small) <= set(served)
    assert len(set(served) & set(huge)) == SLOTS + 5
    bench.pump.quit_claiming()
    for held in bench.inflight.all():
        bench.succeed(held)
    wait_until(lambda: not len(bench.inflight), "every outcome is written")


def test_priority_holds_within_a_queue_for_keyed_jobs_too(start: Start) -> None:
    low, high = enqueue(2, concurrency_key="k"), enqueue(2, concurrency_key="k", priority=5)
    middle = enqueue(2, priority=1)
    bench = start(max_jobs=6)
    bench.wait_held(3)
    began = [held.claimed.id for held in finish(bench, 6)]
    keyed = [job for job in began if job not in middle]
    assert keyed == [*high, *low]
    assert Permit.objects.count() == 1
