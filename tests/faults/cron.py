"""The cron entry of a run: one job each second, none missed."""

from __future__ import annotations

from typing import Final

from ..support.server import Server

ENTRY: Final = "each second"
# Seconds between two ticks.
PERIOD: Final = 1.0


def add_entry(server: Server) -> None:
    """Add it; whatever no scheduler was there for is made up for."""
    server.execute(
        "INSERT INTO conveyor_cron (name, expression, zone, task, args, kwargs, enabled, declared, missed, max_missed,"
        " overlap, jitter_seconds, last_tick, created_at)"
        f" VALUES ('{ENTRY}', '* * * * * *', 'UTC', 'tests.faults.jobs.tick', '[]', '{{}}', true, false, 'all', 1000,"
        " 'allow', 0, date_trunc('second', now()), now())"
    )


def end_entry(server: Server) -> None:
    """Let it tick no more."""
    server.execute("UPDATE conveyor_cron SET enabled = false")
