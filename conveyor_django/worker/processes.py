"""A supervisor's hold on one child process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO

from django.conf import settings

from .board import Board
from .config import ChildConfig, Exit
from .tally import Tally


@dataclass(slots=True, eq=False)
class ChildProcess:
    """A running child: its process, its shared board, and when it was last seen to do something."""

    config: ChildConfig
    process: subprocess.Popen[bytes]
    board: Board
    # Inherited by the child; kept open for as long as the board is looked at.
    files: list[IO[bytes]] = field(repr=False)
    # Where somebody asks for numbers by queue and task.
    tally: Tally | None = None
    started_at: float = field(default_factory=time.monotonic)
    pulse: int = 0
    pulsed_at: float = field(default_factory=time.monotonic)
    looks: int = 0
    looked_at: float = field(default_factory=time.monotonic)
    # It was sent this signal: its end is no surprise.
    asked_by: signal.Signals | None = None
    # Another one has its place already.
    replaced: bool = False

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    @property
    def said_goodbye(self) -> bool:
        """Whether it said itself that it holds nothing any more."""
        return bool(self.board.counters()["goodbye"])

    @property
    def expected(self) -> bool:
        """Whether it was asked to end."""
        return self.asked_by is not None

    def has_left_in_order(self, code: int) -> bool:
        """Say whether the process that ended with this code, negative for a signal, has left nothing to take over.

        No code proves that nothing is held: a handler may have called os._exit().
        """
        # Python listens to signals only from some time after its start to some time before its end.
        was_asked = self.asked_by is not None and code == -self.asked_by
        if self.said_goodbye:
            return was_asked or code in (Exit.DONE, Exit.RECYCLE, Exit.STUBBORN)
        return was_asked and not self.has_begun

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if the process still runs."""
        self.asked_by = number
        if self.process.poll() is None:
            self.process.send_signal(number)

    @property
    def has_begun(self) -> bool:
        """Whether it has come so far that it listens to signals; only later does it claim."""
        return bool(self.board.counters()["pulse"])

    def is_stuck(self, seconds: float) -> bool:
        """Say whether it has done nothing for so long: it lives, but no longer fetches."""
        pulse, now = self.board.counters()["pulse"], time.monotonic()
        if pulse != self.pulse:
            self.pulse, self.pulsed_at = pulse, now
        return now - self.pulsed_at > seconds

    @property
    def is_leaving(self) -> bool:
        """Whether it said itself that it claims nothing more, since a run would not end."""
        return bool(self.board.counters()["leaving"])

    @property
    def is_draining(self) -> bool:
        """Whether it has heard that its worker is asked to drain, which its supervisor cannot hear itself."""
        return bool(self.board.counters()["draining"])

    def is_frozen(self, seconds: float) -> bool:
        """Say whether its main thread has not looked around for so long: code holds the GIL, or it is stopped."""
        looks, now = self.board.counters()["looks"], time.monotonic()
        if looks != self.looks:
            self.looks, self.looked_at = looks, now
        return now - self.looked_at > seconds

    def close(self) -> None:
        """Let go of a process that has ended."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        for file in self.files:
            file.close()


def spawn(config: ChildConfig, board: Board, files: Sequence[IO[bytes]], *, tally: Tally | None = None) -> ChildProcess:
    """Start a child by exec: a fork would share connections, threads and locks. It inherits `files`.

    Its standard input is a pipe that closes when the supervisor dies, however that happens. It leads a session of
    its own, so that Ctrl-C in a terminal reaches the supervisor alone, which then stops it in order.
    """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p or os.curdir for p in sys.path)}
    if settings.SETTINGS_MODULE:
        environment["DJANGO_SETTINGS_MODULE"] = settings.SETTINGS_MODULE
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-m", "conveyor_django.worker", config.to_json()],
        stdin=subprocess.PIPE,
        pass_fds=[file.fileno() for file in files],
        start_new_session=True,
        env=environment,
    )
    return ChildProcess(config, process, board, [*files], tally)
