"""Whether ready jobs wait for too long."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from ...managers.looking import LookManager
from ...models import Queue
from ..fleet import Fleet
from ..wording import lasting
from .finding import Check, Finding, warning

# Seconds. A queue that is worked through is not that far behind; a person may want to know.
TOO_OLD: Final = 300.0
# Queues times priorities that are looked at.
_HEADS: Final = 1000


def old_ready_jobs(fleet: Fleet) -> Iterator[Finding]:
    """Find queues, paused ones aside, whose first job of some priority has been due for TOO_OLD seconds."""
    paused = set(Queue.objects.using(fleet.alias).filter(paused=True).values_list("name", flat=True))
    look: LookManager = LookManager().db_manager(fleet.alias)
    for queue, heads in groupby(look.list_line_heads(limit=_HEADS, now=fleet.now), key=lambda head: head.queue):
        oldest = max(heads, key=lambda head: head.waited)
        if oldest.waited > TOO_OLD and queue not in paused:
            yield warning(
                "ready_too_old",
                f"queue {queue!r} is behind: job {oldest.id} ({oldest.task}, priority {oldest.priority}) has been "
                f"ready for {lasting(oldest.waited)}.",
                f"See why: manage.py conveyor_explain {oldest.id} --database {fleet.alias}. If its workers are just "
                f"busy, start more of them, or give them a higher --concurrency.",
            )


BACKLOG: Final = Check(f"No ready job has waited for {lasting(TOO_OLD)}.", old_ready_jobs)
