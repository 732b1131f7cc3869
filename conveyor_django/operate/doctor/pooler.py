"""Whether a pooler stands between: Conveyor works, but some of it less well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.db import connections

from ...db import is_pooled
from ...managers.workers import application_name
from ..fleet import Fleet, named
from ..wording import listed
from .finding import Check, Finding, warning


def pooled_here(fleet: Fleet) -> Iterator[Finding]:
    """Find that this process's own connection goes through a pooler."""
    wrapper: Any = connections[fleet.alias]
    wrapper.ensure_connection()
    if is_pooled(wrapper.connection):
        yield warning(
            "pooled",
            f"DATABASES[{fleet.alias!r}] leads through a pooler: a worker with these settings hears of no job (it "
            "polls), and when it dies, its lease decides, not its lock.",
            "For web processes that is fine. Give workers and schedulers settings that lead to PostgreSQL itself.",
        )


def workers_without_lock(fleet: Fleet) -> Iterator[Finding]:
    """Find live workers whose session lock nobody can look at."""
    direct = {session.name for session in fleet.sessions}
    without = [worker for worker in fleet.live if not worker.holds_lock]
    pooled = [
        worker
        for worker in without
        if not any(name.startswith(application_name(worker.incarnation)) for name in direct)
    ]
    if pooled:
        yield warning(
            "worker_pooled",
            f"these workers reach the database through a pooler: {listed(map(named, pooled))}. They poll, and their "
            f"death is noticed by their lease alone.",
            "Give workers settings that lead to PostgreSQL itself.",
        )
    if odd := [worker for worker in without if worker not in pooled]:
        yield warning(
            "worker_without_lock",
            f"{listed(map(named, odd))} {'does' if len(odd) == 1 else 'do'} not hold the session lock that says that a "
            f"worker lives: an older session of it may still have it. Its death is noticed by its lease alone.",
            "Nothing if it passes within a heartbeat. If it stays, restart that worker.",
        )


HERE: Final = Check("No pooler stands between this process and the database.", pooled_here)
LOCKS: Final = Check("Every worker holds its session lock.", workers_without_lock)
