"""When a duty looks next."""

from __future__ import annotations

import pytest

from conveyor_django.scheduler.duty import Look
from conveyor_django.scheduler.pace import Pace


class Clock:
    """A clock that goes when told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def looked(clock, pace, look, *, cost=0.0, usual=1.0):
    """Let a look of that cost end now."""
    pace.looked(look, began=clock.now - cost, usual=usual)


def test_the_first_look_is_due_at_once(clock):
    assert Pace(clock=clock).is_due()


def test_without_news_it_looks_after_the_usual_interval(clock):
    pace = Pace(clock=clock)
    looked(clock, pace, Look(), usual=1.0)
    assert pace.remaining() == 1.0
    clock.now += 0.9
    assert not pace.is_due()
    clock.now += 0.1
    assert pace.is_due()


@pytest.mark.parametrize(("wait", "remaining"), [(0.25, 0.25), (0.0, 0.0), (3600.0, 1.0)])
def test_it_waits_as_long_as_the_look_said_but_never_longer_than_usual(clock, wait, remaining):
    pace = Pace(clock=clock)
    looked(clock, pace, Look(wait=wait), usual=1.0)
    assert pace.remaining() == remaining


def test_an_expensive_look_spaces_itself_out(clock):
    pace = Pace(clock=clock)
    looked(clock, pace, Look(), cost=0.5, usual=1.0)
    assert pace.remaining() == 10.0
    pace.hurry()
    assert pace.remaining() == 10.0


def test_after_a_full_batch_it_looks_at_once_whatever_that_cost(clock):
    pace = Pace(at_least=60.0, clock=clock)
    looked(clock, pace, Look(changed=1000, more=True), cost=0.5)
    assert pace.is_due()


def test_hurry_looks_now(clock):
    pace = Pace(clock=clock)
    looked(clock, pace, Look(), usual=3600.0)
    pace.hurry()
    assert pace.is_due()


def test_hurry_respects_the_shortest_interval(clock):
    pace = Pace(at_least=60.0, clock=clock)
    looked(clock, pace, Look(), usual=1.0)
    pace.hurry()
    assert pace.remaining() == 60.0
