"""Which jobs may share a transaction, as far as is known before they run."""

from __future__ import annotations

import time

from ..compat import has_receivers, task_started
from .handler import Handlers
from .inflight import Held
from .line import Line, Turn
from .paces import Paces
from .runs import Run


class Grouping:
    """Sorts jobs into those that run alone and the line of those that may share, in groups of at most `most`."""

    def __init__(self, handlers: Handlers, *, most: int) -> None:
        self.paces = Paces()
        self.line = Line(most=most)
        self._handlers = handlers
        self._most = most

    def sort(self, jobs: tuple[Held, ...]) -> list[Held | Turn]:
        """Return what threads are to take now: jobs to run alone, and turns at the line."""
        if self._most == 1 or has_receivers(task_started):
            # A receiver's own writes are none of the handler's: they commit by themselves, before it.
            return list(jobs)
        alone: list[Held | Turn] = []
        quick: list[tuple[Held, float]] = []
        now = time.monotonic()
        for held in jobs:
            timeout = self._timeout(held, now)
            if timeout is None:
                alone.append(held)
            else:
                quick.append((held, timeout))
        return alone + self.line.join(quick)

    def note(self, run: Run, began: float, *, alone: bool) -> None:
        """Note how long an atomic run took that has begun at that instant, and if it was alone, its transaction."""
        if run.options.atomic and run.seconds is not None:
            now = time.monotonic()
            self.paces.note(run.held.claimed.task, run.seconds, now)
            if alone:
                self.paces.note_transaction(now - began - run.seconds)

    def _timeout(self, held: Held, now: float) -> float | None:
        """Return the seconds that a job may take which may share a transaction, None where it may not."""
        definition = self._handlers.known(held.claimed.task)
        if definition is None or not definition.is_groupable or not self.paces.is_quick(held.claimed.task, now):
            return None
        return definition.timeout
