"""What goes wrong in the demo: one child of the worker is frozen past its lease, another one killed.

Each fault is a small state machine that moves on what the database and the worker's log say, never on a guess
of how long something takes.
"""

from __future__ import annotations

import contextlib
import os
import signal
from enum import Enum, auto
from typing import ClassVar

from .programs import Log
from .screen import Screen
from .store import Child, View


class Stage(Enum):
    """How far a fault is."""

    WAITING = auto()
    STRUCK = auto()
    FROZEN = auto()
    THAWED = auto()
    OVER = auto()


class Fault:
    """A fault that strikes the busiest child once; `step` is called with every look at the database."""

    signal: ClassVar[signal.Signals]

    def __init__(self, worker: Log, screen: Screen) -> None:
        self.stage = Stage.WAITING
        self.victim: Child | None = None
        self._worker = worker
        self._screen = screen

    @property
    def is_over(self) -> bool:
        """Whether it has struck and cost what it should."""
        return self.stage is Stage.OVER

    def leases_lost(self, view: View) -> int:
        """Return the leases that it cost."""
        return view.lost_of(self.victim) if self.victim else 0

    def _strike(self, view: View, spared: Child | None = None) -> Child | None:
        """Send the signal to the busiest child if it has jobs in flight; return it."""
        children = [child for child in view.children if child != spared and view.running_of(child)]
        victim = max(children, key=view.running_of, default=None)
        if victim is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim.pid, self.signal)
            self.victim, self.stage = victim, Stage.STRUCK
        return victim


class Freeze(Fault):
    """SIGSTOP while jobs are in flight, SIGCONT once others have taken them over."""

    signal = signal.SIGSTOP

    def step(self, view: View) -> None:
        """Go on to the next stage if the time has come."""
        if self.stage is Stage.WAITING:
            self._strike(view)
            return
        child = self.victim
        assert child is not None  # noqa: S101 - every later stage has its victim
        if self.stage is Stage.STRUCK:
            self._look_what_was_hit(view, child)
        elif self.stage is Stage.FROZEN and not view.running_of(child):
            os.kill(child.pid, signal.SIGCONT)
            self._screen.say(
                f"  SIGCONT  to child {child.pid}: it lost {view.lost_of(child)} leases while it was frozen"
            )
            self.stage = Stage.THAWED
        elif self.stage is Stage.THAWED and self._worker.events("outcome.refused", process=child.pid):
            self._screen.say(f"           child {child.pid} is back, and was refused what others had done meanwhile")
            self.stage = Stage.OVER

    def _look_what_was_hit(self, view: View, child: Child) -> None:
        """Begin the wait for the rescue, or let it go if it had just finished everything."""
        # Stopped, it keeps what it holds now until its lease lapses.
        if view.running_of(child):
            self._screen.say(f"  SIGSTOP  to child {child.pid} with {view.running_of(child)} jobs in flight")
            self.stage = Stage.FROZEN
        else:
            self.thaw()
            self.stage = Stage.WAITING

    def thaw(self) -> None:
        """Let the victim run again, whatever the stage."""
        if self.victim is not None and self.stage in (Stage.STRUCK, Stage.FROZEN):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.victim.pid, signal.SIGCONT)


class Kill(Fault):
    """SIGKILL while jobs are in flight."""

    signal = signal.SIGKILL

    def step(self, view: View, spared: Child | None) -> None:
        """Go on to the next stage if the time has come; `spared` is the frozen child."""
        if self.stage is Stage.WAITING:
            if (child := self._strike(view, spared)) is not None:
                jobs = view.running_of(child)
                self._screen.say(f"  SIGKILL  to child {child.pid} with {jobs} jobs in flight")
        elif self.stage is Stage.STRUCK:
            self._look_what_it_cost(view)

    def _look_what_it_cost(self, view: View) -> None:
        child = self.victim
        assert child is not None  # noqa: S101 - it was struck
        if view.running_of(child):
            return
        if lost := view.lost_of(child):
            self._screen.say(f"           child {child.pid} is replaced; the {lost} leases it lost are taken over")
            self.stage = Stage.OVER
        elif self._worker.events("child.died", pid=child.pid):
            # It had finished everything the moment before.
            self.stage = Stage.WAITING
