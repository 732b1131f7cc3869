"""Run a scheduler as the whole work of this process, until a signal ends it."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from ..conf import ConveyorSettings
from ..loops import Loop
from .loop import SchedulerLoop

STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

# How long a signal waits for the statement in flight; nothing that it does can be left half done.
STOP_SECONDS: Final = 5.0


class Ending:
    """Wakes the main thread when a signal comes or the loop ends.

    By a socket that the interpreter's own handler writes to: the kernel may give a signal to any thread, and
    then a main thread that waits for a lock or an Event does not wake.
    """

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)

    def wait(self) -> None:
        """Wait for the first signal or `end()`."""
        self._reader.recv(1)

    def end(self) -> None:
        """Wake whoever waits."""
        self._writer.send(b"\0")

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Let the stop signals end the wait inside the block; the handlers of before come back after it."""
        handlers = {number: signal.signal(number, lambda *_: None) for number in STOP_SIGNALS}
        before = signal.set_wakeup_fd(self._writer.fileno())
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def close(self) -> None:
        """Close the sockets."""
        self._reader.close()
        self._writer.close()


class _ForegroundLoop(SchedulerLoop):
    """A scheduler's loop that says when it has done its work."""

    ending: Ending

    def run(self) -> None:
        """Run, then say so."""
        super().run()
        self.ending.end()


def run_scheduler(
    *,
    alias: str,
    settings: ConveyorSettings,
    once: bool = False,
    watched_by: Callable[[SchedulerLoop], AbstractContextManager[object]] = nullcontext,
) -> SchedulerLoop:
    """Run a scheduler until SIGTERM or SIGINT, or through one look if `once`; return its loop.

    Raises what ended the loop otherwise. A second signal ends the process at once. `watched_by` gets the loop before
    it starts, and is left when it is told to stop.
    """
    failures: list[BaseException] = []

    def fail(_loop: Loop, error: BaseException) -> None:
        failures.append(error)
        loop.ending.end()

    loop = _ForegroundLoop(alias=alias, settings=settings, on_error=fail, once=once)
    with watched_by(loop):
        loop.ending = Ending()
        with loop.ending.on_signals():
            loop.start()
            loop.ending.wait()
    loop.stop()
    if loop.join(STOP_SECONDS):
        loop.ending.close()
    if failures:
        raise failures[0]
    return loop
