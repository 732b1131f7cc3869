"""The leading edge of the wake-up, on an injected clock."""

from __future__ import annotations

from conveyor_django.notify import Doorbell

from ..support.barriers import at_once


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_first_ring_goes_through_and_the_next_of_its_window_do_not() -> None:
    clock = Clock()
    bell = Doorbell(clock)
    assert bell.first_of_window("default", ["a"], 1.0) == ["a"]
    clock.now = 0.999
    assert bell.first_of_window("default", ["a"], 1.0) == []
    clock.now = 1.0
    assert bell.first_of_window("default", ["a"], 1.0) == ["a"]
    clock.now = 1.999
    assert bell.first_of_window("default", ["a"], 1.0) == []


def test_a_held_back_ring_does_not_lengthen_the_window() -> None:
    clock = Clock()
    bell = Doorbell(clock)
    rung = []
    for step in range(10):
        clock.now = step / 2
        rung.append(bool(bell.first_of_window("default", ["a"], 1.0)))
    assert rung == [True, False] * 5


def test_each_queue_and_each_database_has_its_own_window() -> None:
    bell = Doorbell(Clock())
    assert bell.first_of_window("default", ["a"], 1.0) == ["a"]
    assert bell.first_of_window("default", ["b", "a", "c"], 1.0) == ["b", "c"]
    assert bell.first_of_window("other", ["a"], 1.0) == ["a"]


def test_a_queue_named_twice_rings_once() -> None:
    assert Doorbell(Clock()).first_of_window("default", ["a", "a"], 1.0) == ["a"]


def test_a_ring_that_arrived_counts_from_when_it_set_out() -> None:
    clock = Clock()
    bell = Doorbell(clock)
    assert bell.due_at("default", "a", 1.0) == 0.0
    assert bell.due_at("default", "a", 1.0) == 0.0
    clock.now = 0.75
    bell.note("default", "a", 0.0)
    assert bell.due_at("default", "a", 1.0) is None
    assert bell.first_of_window("default", ["a"], 1.0) == []
    assert bell.due_at("default", "b", 1.0) == bell.due_at("other", "a", 1.0) == 0.75
    clock.now = 1.0
    assert bell.due_at("default", "a", 1.0) == 1.0


def test_a_ring_that_arrived_late_does_not_open_the_window_of_a_later_one() -> None:
    clock = Clock()
    bell = Doorbell(clock)
    clock.now = 5.0
    assert bell.first_of_window("default", ["a"], 1.0) == ["a"]
    bell.note("default", "a", 4.5)
    clock.now = 5.9
    assert bell.first_of_window("default", ["a"], 1.0) == []


def test_without_a_window_every_ring_goes_through() -> None:
    bell = Doorbell(Clock())
    assert [bell.first_of_window("default", ["a"], 0.0) for _ in range(3)] == [["a"]] * 3


def test_a_ring_that_failed_opens_the_window_again() -> None:
    bell = Doorbell(Clock())
    bell.first_of_window("default", ["a", "b"], 1.0)
    bell.forget("default", ["a", "never rung"])
    assert bell.first_of_window("default", ["a", "b"], 1.0) == ["a"]


def test_a_clock_that_starts_anywhere() -> None:
    clock = Clock()
    clock.now = -1e6
    assert Doorbell(clock).first_of_window("default", ["a"], 1.0) == ["a"]


def test_of_many_threads_one_rings() -> None:
    bell = Doorbell(Clock())
    rung = at_once(*[lambda: bell.first_of_window("default", ["a"], 1.0)] * 8)
    assert sorted(rung) == [[]] * 7 + [["a"]]
