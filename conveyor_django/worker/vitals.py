"""How the living children of a supervisor are, from the signs on their boards."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .processes import ChildProcess
from .wakeup import DEAF_SECONDS, PROBE_SECONDS

# A listener that has not heard itself for so long is deaf, or about to notice; a second for the loop's own turns.
HEARING_SECONDS: Final = PROBE_SECONDS + DEAF_SECONDS + 1.0
_NANO: Final = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """What holds for the children together. Ages are in seconds, each that of the child that is worst off."""

    processes: int
    slots: int
    # Runs that have started and whose outcome is not written yet.
    slots_in_use: int
    # Children whose listener hears itself; the others poll.
    listening: int
    # Since the database took a heartbeat; and since the pump did a turn.
    heartbeat_age: float
    fetch_age: float


def vitals_of(children: Sequence[ChildProcess]) -> Vitals:
    """Read the signs of these children."""
    now = time.monotonic()
    signs = [(child, child.board.counters()) for child in children]
    return Vitals(
        processes=len(children),
        slots=sum(child.config.concurrency for child in children),
        slots_in_use=sum(len(child.board.started()) for child in children),
        listening=sum(now - sign["heard_at"] / _NANO < HEARING_SECONDS for _, sign in signs if sign["heard_at"]),
        # One that has not begun to beat is as old as its process.
        heartbeat_age=max(
            (now - (sign["beaten_at"] / _NANO or child.started_at) for child, sign in signs), default=0.0
        ),
        fetch_age=max((now - child.pulsed_at for child in children), default=0.0),
    )
