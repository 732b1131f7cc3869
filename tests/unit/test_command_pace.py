"""The pace of commands on many jobs: no delay adds up, and no standstill is made up for in one burst."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from conveyor_django.management.stopping import Pace, Stop


class Clock:
    """A clock that the test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize(("rate", "batch"), [(None, 500), (0.1, 1), (5, 1), (99, 9), (1000, 100), (1e9, 500)])
def test_a_batch_is_what_is_due_in_a_tenth_of_a_second(rate: float | None, batch: int) -> None:
    assert Pace(rate).batch(500) == batch


def test_without_a_rate_nothing_is_waited_for(clock: Clock) -> None:
    assert Pace(None, clock=clock).wait_after(1_000_000) == 0


def test_each_wait_is_counted_from_the_start(clock: Clock) -> None:
    pace = Pace(10, clock=clock)
    waits = []
    for done in range(1, 101):
        # Each batch takes a while of its own.
        clock.now += 0.03
        waits.append(pace.wait_after(done))
        clock.now += waits[-1]
    assert clock.now == pytest.approx(110)
    assert waits == [pytest.approx(0.07)] * 100


def test_after_a_standstill_at_most_a_second_is_made_up_for(clock: Clock) -> None:
    pace = Pace(10, clock=clock)
    assert pace.wait_after(1) == pytest.approx(0.1)
    clock.now += 600
    done = 1
    while pace.wait_after(done + 1) == 0:
        done += 1
    assert done - 1 == pytest.approx(10, abs=1)
    # And from there on as ever.
    before = clock.now
    for more in range(1, 51):
        clock.now += pace.wait_after(done + more)
    assert clock.now - before == pytest.approx(5, abs=0.11)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_wait_of_its_own_thread(number: signal.Signals) -> None:
    with Stop().on_signals() as stop:
        assert not stop.wait(0)
        timer = threading.Timer(0.01, os.kill, (os.getpid(), number))
        timer.start()
        assert stop.wait(60)
        timer.join()
        assert stop.wait(60)


def test_elsewhere_than_in_the_main_thread_signals_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work() -> None:
        with Stop().on_signals() as stop:
            seen.append((signal.getsignal(signal.SIGINT), stop.wait(0)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(before, False)]
