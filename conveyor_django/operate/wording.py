"""How numbers, times and lists are said to a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import datetime as dt

# (at least so many seconds, how many make one, what that is called)
_UNITS: Final = ((172_800, 86_400, "days"), (7_200, 3_600, "h"), (120, 60, "min"))
# Names that a sentence lists at most.
_LISTED: Final = 5


def lasting(seconds: float) -> str:
    """Return a time of so many seconds in the unit that suits it: 45 s, 12 min, 3 h, 5 days."""
    for least, one, unit in _UNITS:
        if seconds >= least:
            return f"{seconds / one:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def at(instant: dt.datetime) -> str:
    """Return an aware instant to the second, with its offset: 2026-03-01 12:00:00+00:00."""
    return instant.isoformat(sep=" ", timespec="seconds")


def listed(names: Iterable[object], *, most: int = _LISTED) -> str:
    """Return names as a list in a sentence, the first `most` of them: a, b and 3 more."""
    all_names = [str(name) for name in names]
    if len(all_names) > most:
        return f"{', '.join(all_names[:most])} and {len(all_names) - most} more"
    if len(all_names) == 1:
        return all_names[0]
    return f"{', '.join(all_names[:-1])} and {all_names[-1]}" if all_names else "none"


def printable(text: str) -> str:
    """Return a line without what may steer a terminal: whoever enqueues chooses what is in a name or a message."""
    return "".join(mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in text)


def counted(number: int, what: str, *, bound: int | None = None) -> str:
    """Return a number with its noun: 1 job, 3 jobs; where a count ended at its bound, more than 999 jobs."""
    if bound is not None and number >= bound:
        return f"more than {bound - 1:,} {what}s"
    return f"{number:,} {what}{'' if number == 1 else 's'}"
