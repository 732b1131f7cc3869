"""The executor's threads, in this process."""

from __future__ import annotations

import contextlib
import datetime as dt
import queue
import threading
import uuid
from collections.abc import Iterator

from conveyor_django.conf import conveyor_settings
from conveyor_django.outcomes import Claimed, Succeed
from conveyor_django.states import Verb
from conveyor_django.tasks import task
from conveyor_django.worker.board import Board
from conveyor_django.worker.executor import Executor
from conveyor_django.worker.handler import Handlers
from conveyor_django.worker.inflight import InFlight
from conveyor_django.worker.runs import Finished

entered, go_on = threading.Event(), threading.Event()


@task
def wait_to_go_on() -> str:
    """Say that it has begun, and end when told."""
    entered.set()
    go_on.wait(30)
    return "on its own"


def claimed(job_id: int, path: str = "t") -> Claimed:
    return Claimed(
        id=job_id, version=1, queue="q", task=path, args="[]", kwargs="{}", attempt=1, max_attempts=3, lost_count=0,
        release_count=0, lease_seconds=30.0, created_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    )  # fmt: skip


@contextlib.contextmanager
def executing(places: int) -> Iterator[tuple[Executor, queue.SimpleQueue[Finished]]]:
    """Have an executor of one thread, and what becomes of its runs; nothing ends the thread but its stop."""
    board, file = Board.create(places)
    done: queue.SimpleQueue[Finished] = queue.SimpleQueue()
    errors: list[BaseException] = []
    executor = Executor(
        threads=1,
        handlers=Handlers(owner=uuid.uuid4(), alias="default", settings=conveyor_settings()),
        board=board,
        done=done.put,
        on_error=errors.append,
    )
    with file:
        executor.start()
        yield executor, done
        executor.stop()
        executor._threads[0].join(30)
    assert errors == []


def test_a_job_without_a_place_on_the_board_is_tried_again_and_the_thread_lives():
    with executing(places=0) as (executor, done):
        for held in InFlight().add([claimed(1), claimed(2)], 0.0):
            executor.submit(held)
            assert done.get(timeout=30).outcome.verb is Verb.RETRY


def test_an_interrupt_for_a_run_that_has_ended_does_not_reach_the_next_one():
    path = f"{__name__}.{wait_to_go_on.func.__name__}"
    first, second = InFlight().add([claimed(1, path), claimed(2, path)], 0.0)
    with executing(places=2) as (executor, done):
        go_on.set()
        executor.submit(first)
        assert done.get(timeout=30).outcome.verb is Verb.SUCCEED
        entered.clear()
        go_on.clear()
        executor.submit(second)
        assert entered.wait(30)
        first.stop()
        go_on.set()
        outcome = done.get(timeout=30).outcome
        assert outcome == Succeed(id=2, version=1, result='"on its own"')
