"""Work for an executor's threads: each piece once, in order, and nobody rests while there is work to wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from conveyor_django.worker.handoff import Handoff

# A wait that another thread ends; were it called in vain, the test would run into its own timeout.
LONG = 1000.0

Work = Callable[[], object]


@contextmanager
def threads(handoff: Handoff[Work | None], count: int) -> Iterator[None]:
    """Have `count` threads do the work until the block ends."""

    def live() -> None:
        while (work := handoff.get()) is not None:
            work()

    living = [threading.Thread(target=live) for _ in range(count)]
    for thread in living:
        thread.start()
    yield
    for _ in living:
        handoff.put(None)
    for thread in living:
        thread.join()


def test_what_was_left_before_a_thread_came_is_taken_in_order() -> None:
    handoff: Handoff[int] = Handoff()
    for number in range(3):
        handoff.put(number)
    assert [handoff.get() for _ in range(3)] == [0, 1, 2]


def test_work_that_waits_for_its_neighbours_gets_a_thread_for_each() -> None:
    """Each is called by the one before, and the last of them lets all go."""
    handoff: Handoff[Work | None] = Handoff()
    barrier = threading.Barrier(8)
    with threads(handoff, 8):
        for _ in range(3 * 8):
            handoff.put(lambda: barrier.wait(LONG))
    assert not barrier.broken


def test_work_that_comes_while_others_are_at_work_gets_a_thread_that_rests() -> None:
    handoff: Handoff[Work | None] = Handoff()
    begun, go = threading.Event(), threading.Event()

    def waits() -> None:
        begun.set()
        assert go.wait(LONG)

    with threads(handoff, 2):
        handoff.put(waits)
        assert begun.wait(LONG)
        handoff.put(go.set)


def test_more_than_there_are_threads_waits_its_turn() -> None:
    handoff: Handoff[Work | None] = Handoff()
    done: list[int] = []
    with threads(handoff, 1):
        for number in range(100):
            handoff.put(partial(done.append, number))
    assert done == list(range(100))


def test_nothing_is_lost_or_done_twice_when_many_leave_and_take() -> None:
    handoff: Handoff[Work | None] = Handoff()
    done: list[int] = []

    def leaves(first: int) -> None:
        for number in range(first, first + 500):
            handoff.put(partial(done.append, number))

    with threads(handoff, 4):
        leaving = [threading.Thread(target=leaves, args=(1000 * i,)) for i in range(4)]
        for thread in leaving:
            thread.start()
        for thread in leaving:
            thread.join()
    assert sorted(done) == sorted(1000 * i + n for i in range(4) for n in range(500))
