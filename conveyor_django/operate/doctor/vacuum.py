"""Whether dead rows are removed in time: every claim walks past those that are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...managers.looking import LookManager
from ..fleet import Fleet
from ..wording import lasting, listed
from .finding import Check, Finding, warning

# Behind is a table with so many times the dead rows that call autovacuum, and no vacuum for so many seconds: it comes
# about once a minute, and a table that is much written to has many of them until then.
TIMES: Final = 5
SECONDS: Final = 600.0


def autovacuum(fleet: Fleet) -> Iterator[Finding]:
    """Find that autovacuum is off, for the server or for a table."""
    look: LookManager = LookManager().db_manager(fleet.alias)
    if not look.read_server().autovacuum:
        yield warning(
            "autovacuum_off",
            "autovacuum is off on this server: dead rows stay, and claims become slower and slower.",
            "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf();",
        )
    if off := [each.table for each in look.measure_vacuum() if not each.enabled]:
        yield warning(
            "autovacuum_off",
            f"autovacuum is switched off for {listed(off)}.",
            f"ALTER TABLE {off[0]} RESET (autovacuum_enabled);",
        )


def dead_rows(fleet: Fleet) -> Iterator[Finding]:
    """Find tables in which vacuum is far behind."""
    look: LookManager = LookManager().db_manager(fleet.alias)
    for each in look.measure_vacuum(now=fleet.now):
        if each.dead > TIMES * each.trigger and (each.since is None or each.since > SECONDS):
            last = "was never vacuumed" if each.since is None else f"was last vacuumed {lasting(each.since)} ago"
            yield warning(
                "dead_rows",
                f"{each.table} has {each.dead:,} dead rows beside {each.live:,} live ones, and {last}; autovacuum "
                f"should come at {each.trigger:,.0f}.",
                f"VACUUM (ANALYZE) {each.table}; if they are still there then, something holds a snapshot: see "
                f"snapshot_held. Else give autovacuum more workers (autovacuum_max_workers).",
            )


AUTOVACUUM: Final = Check("Autovacuum is on.", autovacuum)
DEAD_ROWS: Final = Check("Vacuum is not behind.", dead_rows)
