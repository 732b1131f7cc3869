"""What the children of a supervisor have counted, those that have ended too: no number here ever falls."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Final

from .board import COUNTERS, SIGNS
from .processes import ChildProcess
from .tally import Figures, Label

# What the supervisor counts of its children: those that ended without giving back what they held, runs that only the
# end of their process has ended, and jobs that were taken back from the dead.
OWN: Final = ("deaths", "killed", "rescued")
_COUNTED: Final = [name for name in COUNTERS if name not in SIGNS]


class Totals:
    """Adds up the children; safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._living: list[ChildProcess] = []
        self._counters: Counter[str] = Counter(dict.fromkeys([*_COUNTED, *OWN], 0))
        self._figures: dict[Label, Figures] = {}

    def join(self, child: ChildProcess) -> None:
        """Count a new child in."""
        with self._lock:
            self._living.append(child)

    def leave(self, child: ChildProcess) -> None:
        """Keep what a child has counted that has ended."""
        with self._lock:
            self._living.remove(child)
            _add_counters(self._counters, child)
            _add_figures(self._figures, child)

    def count(self, name: str, by: int = 1) -> None:
        """Add to one of the supervisor's own counters."""
        with self._lock:
            self._counters[name] += by

    def living(self) -> list[ChildProcess]:
        """Return the children that have not ended."""
        with self._lock:
            return list(self._living)

    def counters(self) -> dict[str, int]:
        """Return all counters, but for the signs of how a process is."""
        with self._lock:
            total = self._counters.copy()
            for child in self._living:
                _add_counters(total, child)
        return dict(total)

    def figures(self) -> dict[Label, Figures]:
        """Return the numbers by queue and task; none where nobody asked for them when the children began."""
        with self._lock:
            total = self._figures.copy()
            for child in self._living:
                _add_figures(total, child)
        return total


def _add_counters(total: Counter[str], child: ChildProcess) -> None:
    counters = child.board.counters()
    total.update({name: counters[name] for name in _COUNTED})


def _add_figures(total: dict[Label, Figures], child: ChildProcess) -> None:
    if child.tally is not None:
        for label, figures in child.tally.figures().items():
            total[label] = total[label] + figures if label in total else figures
