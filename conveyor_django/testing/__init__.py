"""For the tests of projects that use Conveyor: run what was enqueued, look at it, freeze the queue's clock.

`drain` runs jobs in the test's own thread and on its own connection, so it works inside a TestCase, whose rollback
takes everything away again, and in a TransactionTestCase. Nothing is faked: the statements are those of a worker.
With pytest, the fixture `conveyor` has all of this (`pytest_plugin.py`).
"""

from __future__ import annotations

from .clock import FrozenClock, frozen_clock
from .drain import drain
from .enqueued import EnqueuedJob, assert_enqueued, assert_not_enqueued, enqueued
from .immediate import immediate

__all__ = [
    "EnqueuedJob", "FrozenClock", "assert_enqueued", "assert_not_enqueued", "drain", "enqueued", "frozen_clock",
    "immediate",
]  # fmt: skip
