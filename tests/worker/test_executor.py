"""The executor's threads, in this process."""

from __future__ import annotations

import datetime as dt
import queue
import uuid

from conveyor_django.conf import conveyor_settings
from conveyor_django.outcomes import Claimed
from conveyor_django.states import Verb
from conveyor_django.worker.board import Board
from conveyor_django.worker.executor import Executor
from conveyor_django.worker.handler import Handlers
from conveyor_django.worker.inflight import InFlight
from conveyor_django.worker.runs import Finished


def claimed(job_id: int) -> Claimed:
    return Claimed(
        id=job_id, version=1, queue="q", task="t", args="[]", kwargs="{}", attempt=1, max_attempts=3, lost_count=0,
        release_count=0, lease_seconds=30.0, created_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    )  # fmt: skip


def test_a_job_without_a_place_on_the_board_is_tried_again_and_the_thread_lives():
    board, file = Board.create(0)
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
        for held in InFlight().add([claimed(1), claimed(2)], 0.0):
            executor.submit(held)
            assert done.get(timeout=30).outcome.verb is Verb.RETRY
        executor.stop()
        executor._threads[0].join(30)
    assert errors == []
