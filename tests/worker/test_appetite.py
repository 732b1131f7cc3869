"""When a worker looks: pure arithmetic on given instants."""

from __future__ import annotations

import pytest

from conveyor_django.worker.appetite import Appetite


@pytest.fixture
def appetite() -> Appetite:
    return Appetite(poll=1.0, window=0.01, now=100.0, uniform=lambda low, high: (low + high) / 2)


def test_looks_at_once_when_it_starts(appetite):
    assert appetite.is_due(100.0)


def test_looks_at_once_after_a_look_that_got_all_it_asked_for(appetite):
    appetite.looked(100.0, asked=8, got=8)
    assert appetite.is_due(100.0)


def test_looks_a_window_later_after_a_look_that_got_some(appetite):
    appetite.looked(100.0, asked=8, got=3)
    assert not appetite.is_due(100.009)
    assert appetite.is_due(100.011)


def test_polls_after_a_look_that_got_nothing(appetite):
    appetite.looked(100.0, asked=8, got=0)
    assert appetite.seconds(100.0) == pytest.approx(1.0)


def test_a_wake_up_is_followed_by_a_second_look_a_window_later(appetite):
    appetite.looked(100.0, asked=8, got=0)
    appetite.woken(100.5)
    assert appetite.is_due(100.5)
    appetite.looked(100.5, asked=8, got=0)
    assert appetite.seconds(100.5) == pytest.approx(0.01)
    appetite.looked(100.51, asked=8, got=0)
    assert appetite.seconds(100.51) == pytest.approx(1.0)


def test_a_wake_up_during_the_window_brings_a_look_at_once_and_another_window(appetite):
    appetite.woken(100.0)
    appetite.looked(100.0, asked=8, got=0)
    appetite.woken(100.005)
    assert appetite.is_due(100.005)
    appetite.looked(100.005, asked=8, got=0)
    assert appetite.seconds(100.005) == pytest.approx(0.01)


def test_a_window_longer_than_the_poll_does_not_stop_the_poll():
    appetite = Appetite(poll=1.0, window=1e9, now=100.0)
    appetite.woken(100.0)
    appetite.looked(100.0, asked=8, got=0)
    assert appetite.seconds(100.0) == pytest.approx(1.0)
