"""Who is told to stop, when, and who counts as one that will not."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from conveyor_django.outcomes import Claimed
from conveyor_django.states import Verb
from conveyor_django.worker.board import Board
from conveyor_django.worker.deadlines import Deadlines
from conveyor_django.worker.inflight import Held, InFlight

NEVER = float("inf")


def claimed(job_id: int = 1) -> Claimed:
    return Claimed(
        id=job_id, version=1, queue="q", task="t", args="[]", kwargs="{}", attempt=1, max_attempts=3, lost_count=0,
        release_count=0, lease_seconds=30.0, created_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    )  # fmt: skip


class Bench:
    """Held runs, a board and their deadlines; `interrupted` counts the interruptions."""

    def __init__(self, grace: float) -> None:
        self.inflight = InFlight()
        self.board, self.file = Board.create(4)
        self.deadlines = Deadlines(inflight=self.inflight, board=self.board, grace=grace)
        self.interrupted = 0

    def run(self, timeout: float | None = None, job_id: int = 1) -> Held:
        [held] = self.inflight.add([claimed(job_id)], time.monotonic())
        assert held.take()
        held.place = self.board.mark_started(held.token)
        held.interrupt = self.interrupt
        held.begin(timeout)
        return held

    def interrupt(self) -> None:
        self.interrupted += 1


@pytest.fixture
def bench():
    made = Bench(grace=600.0)
    yield made
    made.file.close()


@pytest.fixture
def strict():
    made = Bench(grace=0.0)
    yield made
    made.file.close()


def test_a_run_whose_time_is_over_is_interrupted_once(bench):
    held = bench.run(timeout=0.0)
    assert bench.deadlines.look() == bench.deadlines.look() == []
    assert (held.overdue, held.must_end, bench.interrupted) == (True, True, 1)


def test_one_that_has_time_left_or_no_limit_is_left_alone(bench):
    held = [bench.run(timeout=600.0), bench.run(job_id=2)]
    assert bench.deadlines.look() == []
    assert [h.must_end for h in held] == [False, False]
    assert bench.interrupted == 0


def test_one_that_did_not_stop_within_the_grace_is_stubborn(strict):
    held, neighbour = strict.run(timeout=0.0), strict.run(job_id=2)
    strict.deadlines.look()
    assert strict.deadlines.look() == [held]
    assert strict.inflight.to_give_back() == [neighbour]
    held.end()
    assert strict.deadlines.look() == []
    assert strict.inflight.to_give_back() == [held, neighbour]


def test_what_commits_is_not_interrupted_but_has_to_end_too(strict):
    shielded = []
    held = strict.run(timeout=0.0)
    held.shield = lambda: shielded.append(True)
    held.settle()
    strict.deadlines.look()
    assert strict.deadlines.look() == [held]
    assert (strict.interrupted, shielded, held.must_end) == (0, [True], False)


def test_what_has_ended_is_neither_overdue_nor_interrupted(bench):
    held = bench.run(timeout=0.0)
    held.end()
    assert bench.deadlines.look() == []
    assert (held.overdue, bench.interrupted) == (False, 0)


def test_a_cancelled_run_is_noted_on_the_board(bench):
    held = bench.run(timeout=600.0)
    assert not held.cancel()
    bench.deadlines.look()
    [(token, limit)] = bench.board.overdue(time.monotonic()).items()
    assert (token, limit.verb, limit.timeout) == (held.token, Verb.CANCEL, None)


def test_a_cancelled_run_that_has_ended_is_not_noted_any_more(bench):
    held = bench.run()
    held.cancel()
    held.end()
    bench.deadlines.look()
    assert bench.board.overdue(time.monotonic()) == {}


def test_a_run_whose_lease_lapsed_is_stubborn_after_a_lease(strict):
    held = strict.run()
    strict.inflight.lapse(held)
    assert strict.deadlines.look() == []
    held.lapsed_at = time.monotonic() - 31.0
    assert strict.deadlines.look() == [held]
    # Another worker has its job by now, so it is nothing to keep.
    assert strict.inflight.to_give_back() == [held]


def test_a_job_is_run_or_cancelled_while_it_waits_never_both():
    run, cancelled = Held(claimed(), NEVER), Held(claimed(), NEVER)
    assert run.take()
    assert not run.cancel()
    assert cancelled.cancel()
    assert not cancelled.take()
    assert not cancelled.must_end
