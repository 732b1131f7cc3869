"""What the reference speaks of: jobs, edges and queues, as the design's §3 has them; and the bounds of its budgets."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final
from uuid import UUID

ENDED: Final = ("succeeded", "failed", "cancelled")
# Small, so that a few steps come to the bounds.
MAX_LOST: Final = 2
MAX_RELEASES: Final = 1
KEPT_ATTEMPTS: Final = 3

Token = tuple[int, int]


@dataclass
class Job:
    """One job, as the design's §3 and §4 have it."""

    id: int
    queue: str
    task: str
    priority: int
    max_attempts: int
    run_at: dt.datetime
    state: str
    key: str | None = None
    concurrency_key: str | None = None
    workflow: int | None = None
    pending: int = 0
    attempt: int = 0
    lost: int = 0
    releases: int = 0
    version: int = 0
    owner: UUID | None = None
    expires: dt.datetime | None = None
    cancelling: bool = False
    # Its place in line; None until it is known which one the database has drawn.
    place: int | None = None


@dataclass
class Edge:
    """`child` needs `parent`."""

    child: int
    parent: int
    on_failure: str
    resolved: bool = False


@dataclass
class Queue:
    """A queue's settings."""

    paused: bool = False
    exact_cap: int | None = None
    key_cap: int | None = None
