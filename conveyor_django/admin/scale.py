"""Time to scale: where an instant is drawn, which marks an axis has, how a length of time is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
# From here on three digits round up to the next unit.
_NEARLY_ONE: Final = 0.9995
_TWO_DIGITS: Final = 10
_UNITS: Final = ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"))
# Thinner than this, nobody sees it.
LEAST_WIDTH: Final = 3.0
MOST_TICKS: Final = 8


@dataclass(frozen=True, slots=True)
class Scale:
    """The line from `left` to `right`, in units of the drawing, that stands for `span` seconds."""

    span: float
    left: float
    right: float

    def at(self, seconds: float) -> float:
        """Return the place of an instant, which is within the span."""
        if self.span <= 0:
            return self.left
        return _place(self.left + (self.right - self.left) * min(max(seconds / self.span, 0.0), 1.0))

    def bar(self, start: float, end: float) -> tuple[float, float]:
        """Return the place and the width of a length of time: wide enough to be seen, and never past the end."""
        begin, width = self.at(start), max(self.at(end) - self.at(start), LEAST_WIDTH)
        return _place(min(begin, self.right - width)), _place(width)

    def ticks(self) -> list[tuple[float, str]]:
        """Return the marks of the axis, from its beginning on: each one's place and its time."""
        step = tick_step(self.span)
        count = int(self.span / step + 1e-9) if step else 0
        return [(self.at(step * number), duration(step * number)) for number in range(count + 1)]


def tick_step(span: float) -> float:
    """Return the seconds between two marks: a round number, of which at most MOST_TICKS are within the span."""
    return next(step for step in _steps() if span <= step * MOST_TICKS) if span > 0 else 0.0


def _steps() -> Iterator[float]:
    for power in range(-6, 1):
        for digit in (1, 2, 5):
            yield round(digit * 10.0**power, 6)
    yield from (10.0, 15.0, 30.0)
    yield from (_MINUTE * count for count in (1, 2, 5, 10, 15, 30))
    yield from (_HOUR * count for count in (1, 2, 3, 6, 12))
    power = 0
    while True:
        for digit in (1, 2, 5):
            yield _DAY * digit * 10**power
        power += 1


def duration(seconds: float) -> str:
    """Return a length of time in at most two units, as "3 ms", "1.5 s" or "3 d 4 h"."""
    if seconds < 0:
        return f"−{duration(-seconds)}"
    if seconds < _NEARLY_ONE:
        return _small(seconds)
    # Of what a minute or more takes, nobody asks for its tenths.
    if seconds < _MINUTE - 0.05:
        return f"{seconds:.3g} s" if seconds < _TWO_DIGITS else f"{round(seconds, 1):g} s"
    return _large(round(seconds))


def _small(seconds: float) -> str:
    if seconds == 0:
        return "0"
    return f"{seconds * 1e3:.3g} ms" if seconds * 1e3 >= _NEARLY_ONE else f"{max(round(seconds * 1e6), 1)} µs"


def _large(seconds: int) -> str:
    parts = []
    for size, unit in _UNITS:
        count, seconds = divmod(seconds, int(size))
        parts.append((count, unit))
    parts.append((seconds, "s"))
    first = next(place for place, (count, _) in enumerate(parts) if count)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2] if count)


def _place(value: float) -> float:
    # A tenth of a unit is finer than a screen, and keeps the drawing small.
    return round(value, 1)
