"""What stops a run in an executor's thread: an exception in Python, a cancellation of what it waits for."""

from __future__ import annotations

from .interrupt import Interrupter
from .statements import Statements


class Stopper:
    """Stops what the thread that makes this runs inside a `with` block of it; any thread may call `stop`."""

    def __init__(self) -> None:
        self._interrupter = Interrupter()
        self._statements = Statements()

    def __enter__(self) -> None:
        """Mark the code inside as what `stop` may stop."""
        self._interrupter.__enter__()

    def __exit__(self, *error: object) -> None:
        """Be unstoppable again."""
        self._interrupter.__exit__(*error)

    def stop(self) -> None:
        """Interrupt the code inside, and the statement that it waits for."""
        # In this order, so that the handler does not take the database's error for one to deal with.
        self._interrupter.interrupt()
        self._statements.cut()

    def shield(self) -> None:
        """Be unstoppable from here on; called by the thread inside."""
        self._interrupter.shield()

    def settle(self) -> None:
        """Wait until no cancellation is on its way any more."""
        self._statements.settle()
