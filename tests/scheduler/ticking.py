"""What the tests of ticks share: a clock to set, duties that go by it, and what came of them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from conveyor_django.conf import ConveyorSettings
from conveyor_django.models import Job
from conveyor_django.scheduler.ticks import Ticks

AT = dt.datetime(2031, 5, 6, 10, 0, tzinfo=dt.UTC)


class Clock:
    """A clock that the test sets, in seconds after AT."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> dt.datetime:
        return at(self.seconds)


def at(seconds: float) -> dt.datetime:
    """Return the instant so many seconds after AT."""
    return AT + dt.timedelta(seconds=seconds)


def make_duty(clock: Any = lambda: None, *, alias: str = "default", **settings: Any) -> Ticks:
    """Return a duty by that clock; the database's if none is given."""
    return Ticks(alias=alias, settings=ConveyorSettings(**settings), now=clock)


def ticked() -> list[float]:
    """Return the seconds after AT of the ticks that have a job, in the order of the jobs."""
    keys = Job.objects.order_by("pk").values_list("idempotency_key", flat=True)
    return [(dt.datetime.fromisoformat(str(key)[-20:]) - AT).total_seconds() for key in keys]


def events(caplog: pytest.LogCaptureFixture, name: str) -> list[dict[str, Any]]:
    """Return what was logged of the events of that name."""
    return [r.conveyor for r in caplog.records if r.conveyor["event"] == name]
