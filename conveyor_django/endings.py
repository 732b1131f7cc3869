"""How a handler ends its own run: each of these is raised, or returned."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

from .errors import describe
from .retry import MAX_DELAY


class Ending(Exception):
    """A handler's word on what becomes of its job; `reason` is kept with the run, and may be empty."""

    # The delay of the next run in seconds; None: the task's own backoff, or none.
    in_: float | None = None

    def __init__(self, reason: str = "") -> None:
        if not isinstance(reason, str):
            raise TypeError(
                f"{type(self).__name__}: reason must be a str, not {describe(reason)}; pass str(...) of it."
            )
        self.reason = reason
        super().__init__(reason)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.reason,))


class Retry(Ending):
    """Try the job again, as after any failed run: the run counts against `max_attempts`.

    `in_` is the delay in seconds or as a timedelta; None: the task's backoff. Once the runs are used up the job fails.
    Raises TypeError or ValueError for an impossible delay.
    """

    def __init__(self, in_: float | timedelta | None = None, reason: str = "") -> None:
        self.in_ = None if in_ is None else seconds_of(in_, f"{type(self).__name__}(in_=…)")
        super().__init__(reason)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.in_, self.reason))


class Snooze(Ending):
    """Run the job later, as if this run had not been: it costs no attempt.

    `in_` is the delay in seconds or as a timedelta. Raises TypeError or ValueError for an impossible one.
    """

    def __init__(self, in_: float | timedelta, reason: str = "") -> None:
        self.in_ = seconds_of(in_, f"{type(self).__name__}(in_=…)")
        super().__init__(reason)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.in_, self.reason))


class Cancel(Ending):
    """End the job as cancelled."""


class Fail(Ending):
    """End the job as failed, at once, whatever is left of its attempts."""


def raised(value: Any) -> Any:
    """Return what a function returned, unless it is an ending: that is raised."""
    if isinstance(value, Ending) or (isinstance(value, type) and issubclass(value, Ending)):
        raise value
    return value


def seconds_of(delay: Any, what: str) -> float:
    """Return a delay, seconds or a timedelta, in seconds. Raises TypeError or ValueError that name `what`."""
    if isinstance(delay, bool) or not isinstance(delay, (int, float, timedelta)):
        raise TypeError(f"{what} must be seconds or a timedelta, not {describe(delay)}.")
    # An integer may be too large for a float, and is refused as such.
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else delay
    if not 0 <= seconds <= MAX_DELAY or not math.isfinite(seconds):
        raise ValueError(f"{what} must be from 0 to {MAX_DELAY:.0f} seconds, not {describe(delay)}.")
    return float(seconds)
