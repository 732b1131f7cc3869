"""What a supervisor tells its children."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass
from enum import IntEnum

# How long the last outcomes may take to be written, and then the heartbeat to end.
FLUSH_SECONDS = 5.0


def stuck_after(lease_seconds: float) -> float:
    """Return the seconds of standstill after which a process no longer counts as working."""
    return max(60.0, 4 * lease_seconds)


class Exit(IntEnum):
    """Exit codes of a child, so that its supervisor knows what happened; 70 and 75 as in sysexits.h."""

    # It was asked to, or its queues are drained.
    DONE = 0
    # A loop died of an error.
    LOOP_FAILED = 70
    # It has run its number of jobs or grown to its size: replace it.
    RECYCLE = 75
    # Its row was gone: it had been declared dead.
    PRUNED = 76
    # The database lost commits in a failover: a new incarnation must not trust what this one holds.
    FAILOVER = 77
    # The supervisor got a second signal and left at once.
    FORCED = 78
    # A run would not end when it was told to: only the end of the process ends it.
    STUBBORN = 79


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildConfig:
    """All that a child process needs to know. Times are in seconds."""

    incarnation: uuid.UUID
    alias: str
    # The database's name as the supervisor has it: in tests another one than in the settings.
    database: str
    # Empty: every queue that has jobs.
    queues: tuple[str, ...]
    concurrency: int
    grace: float
    poll: float
    supervisor_pid: int
    board_fd: int
    # None where nobody asks for numbers by queue and task.
    tally_fd: int | None = None
    max_jobs: int | None = None
    max_rss_bytes: int | None = None
    # End when there is nothing left to claim.
    drain: bool = False
    log_format: str = "text"
    log_level: int = 20

    def to_json(self) -> str:
        """Return the configuration as text for the child's command line."""
        return json.dumps(asdict(self) | {"incarnation": str(self.incarnation)})

    @classmethod
    def from_json(cls, text: str) -> ChildConfig:
        """Return what `to_json` wrote."""
        values = json.loads(text)
        values["incarnation"] = uuid.UUID(values["incarnation"])
        values["queues"] = tuple(values["queues"])
        return cls(**values)
