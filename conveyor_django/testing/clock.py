"""Freezing the queue's clock: the `now` of every statement that a test's thread runs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager

from django.utils import timezone

from ..managers.base import frozen_now


class FrozenClock:
    """The clock that `frozen_clock` froze; `now` is aware."""

    def __init__(self, now: dt.datetime) -> None:
        self.now = now

    def advance(self, by: dt.timedelta | float) -> dt.datetime:
        """Put the clock forward by a timedelta or by seconds; return the new time. Raises ValueError for backwards."""
        step = by if isinstance(by, dt.timedelta) else dt.timedelta(seconds=by)
        if step < dt.timedelta(0):
            raise ValueError(f"the queue's clock cannot be put back ({by!r}); freeze another one at an earlier time.")
        self.now += step
        return self.now


@contextmanager
def frozen_clock(now: dt.datetime | None = None) -> Iterator[FrozenClock]:
    """Freeze the queue's clock at `now` (aware; the present when left out) in this thread and what it awaits.

    Enqueue, `drain`, cancel and requeue go by it; `timezone.now()` and workers in other processes do not.
    Raises ValueError for a naive datetime.
    """
    instant = timezone.now() if now is None else now
    if timezone.is_naive(instant):
        raise ValueError(f"frozen_clock() needs an aware datetime, not {instant!r}: pass one with a tzinfo.")
    clock = FrozenClock(instant)
    token = frozen_now.set(lambda: clock.now)
    try:
        yield clock
    finally:
        frozen_now.reset(token)
