"""The shape of every loop of a worker or scheduler: start, stop, join; its error reaches whoever runs it."""

from __future__ import annotations

import threading
from collections.abc import Callable

# Called in the loop's own thread with the loop and what ended it.
OnError = Callable[["Loop", BaseException], None]


class Loop:
    """A named thread that runs `run()` until told to stop.

    `stopping` is set by `stop()`; a `run()` that waits for something else overrides `wake()` to be woken too.
    An exception that leaves `run()` goes to `on_error`: no loop dies silently.
    """

    name = "loop"

    def __init__(self, *, on_error: OnError) -> None:
        self.stopping = threading.Event()
        self._on_error = on_error
        self._thread = threading.Thread(target=self._guarded, name=f"conveyor-{self.name}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the loop to end; returns at once."""
        self.stopping.set()
        self.wake()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end, at most `timeout` seconds; say whether it came."""
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def wake(self) -> None:
        """Interrupt the loop's wait."""

    def run(self) -> None:
        """Do the loop's work until `stopping` is set."""
        raise TypeError(f"{type(self).__name__} must define run()")

    def _guarded(self) -> None:
        try:
            self.run()
        except BaseException as error:  # noqa: BLE001 - passed on
            self._on_error(self, error)
