"""The cron entry of a run: one job each second, none missed."""

from __future__ import annotations

from typing import Final

from ..support.server import Server
from ..support.waits import wait_until

ENTRY: Final = "each second"
# Seconds between two ticks.
PERIOD: Final = 1.0
# So many periods an entry that ticks may be behind.
BEHIND: Final = 3
IS_TICKING: Final = (
    f"SELECT last_tick >= now() - interval '{BEHIND * PERIOD} s'"
    " AND EXISTS (SELECT FROM conveyor_job WHERE idempotency_key LIKE 'conveyor:cron:%') FROM conveyor_cron"
)


def add_entry(server: Server) -> None:
    """Add it; whatever no scheduler was there for is made up for."""
    server.execute(
        "INSERT INTO conveyor_cron (name, expression, zone, task, args, kwargs, enabled, declared, missed, max_missed,"
        " overlap, jitter_seconds, last_tick, created_at)"
        f" VALUES ('{ENTRY}', '* * * * * *', 'UTC', 'tests.faults.jobs.tick', '[]', '{{}}', true, false, 'all', 1000,"
        " 'allow', 0, date_trunc('second', now()), now())"
    )


def wait_ticked(server: Server, *, patience: float) -> None:
    """Wait until it has ticked and is not behind. Raises TimeoutError where no scheduler ticks any more."""
    wait_until(lambda: server.rows(IS_TICKING) == [(True,)], "a scheduler ticks", patience=patience)


def end_entry(server: Server) -> None:
    """Let it tick no more."""
    server.execute("UPDATE conveyor_cron SET enabled = false")
