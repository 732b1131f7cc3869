"""What the server is like, and what of it is used up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from ...managers.looking import LookManager, Server
from ..fleet import Fleet
from ..wording import lasting
from .finding import Check, Finding, problem, warning

# Transactions. Autovacuum begins to freeze at 0.2 billion; at 1.6 billion PostgreSQL drops all else for it, and at some
# 2.1 billion it takes no more writes.
OLD: Final = 1_000_000_000
DANGEROUS: Final = 1_600_000_000
# Parts that may be used.
SESSIONS_USED: Final = 0.85
NOTIFICATIONS_USED: Final = 0.25
# Seconds that this host's clock may be off.
SKEW: Final = 2.0
# Bytes of WAL that are kept for a slot that nobody reads.
WAL_KEPT: Final = 1024**3


def settings(fleet: Fleet) -> Iterator[Finding]:
    """Find settings of the server with which promises do not hold, or less can be seen."""
    server = _server(fleet)
    if server.is_standby:
        yield problem(
            "standby",
            f"database {fleet.alias!r} is on a standby, which takes no writes.",
            f"Point DATABASES[{fleet.alias!r}] to the primary.",
        )
    if not server.fsync or server.synchronous_commit == "off":
        yield warning(
            "commits_not_durable",
            "fsync or synchronous_commit is off: after a crash of the server, jobs that were accepted and effects that "
            "were committed may be gone.",
            "ALTER SYSTEM RESET fsync; ALTER SYSTEM RESET synchronous_commit; SELECT pg_reload_conf();",
        )
    if not server.track_activities:
        yield warning(
            "activities_hidden",
            "track_activities is off: whether a scheduler or a listener stands still cannot be seen.",
            "ALTER SYSTEM RESET track_activities; SELECT pg_reload_conf();",
        )


def wraparound(fleet: Fleet) -> Iterator[Finding]:
    """Find that old transaction ids come to an end."""
    server = _server(fleet)
    for age, what in ((server.xid_age, "transactions"), (server.mxid_age, "multixacts")):
        if age > OLD:
            yield (problem if age > DANGEROUS else warning)(
                "wraparound",
                f"the oldest rows of the database have not been frozen for {age:,} {what}; at about 2.1 billion it "
                "takes no more writes.",
                "VACUUM (FREEZE) the tables with the highest age(relfrozenxid) in pg_class; see what holds vacuum "
                "back: snapshot_held, prepared_transaction, replication_slot.",
            )


def used_up(fleet: Fleet) -> Iterator[Finding]:
    """Find that sessions, or the queue of notifications, come to an end."""
    server = _server(fleet)
    if server.sessions > SESSIONS_USED * server.max_sessions:
        yield warning(
            "sessions_used_up",
            f"{server.sessions} of {server.max_sessions} sessions are in use; a worker process needs one for each "
            "slot and four more.",
            "Raise max_connections, lower --concurrency or --processes, or lead web processes through a pooler.",
        )
    if server.notifications > NOTIFICATIONS_USED:
        yield warning(
            "notifications_used_up",
            f"{server.notifications:.0%} of the queue of notifications is full: some listening session sits in a "
            f"transaction. Once it is full, whoever notifies gets an error.",
            "End the oldest transaction of a listening session: SELECT pid, xact_start, query FROM pg_stat_activity "
            "ORDER BY xact_start;",
        )


def invalid_indexes(fleet: Fleet) -> Iterator[Finding]:
    """Find indexes that no statement may use."""
    for index, table in LookManager().db_manager(fleet.alias).list_invalid_indexes():
        yield problem(
            "invalid_index",
            f"the index {index} of {table} is invalid, as a CREATE or REINDEX INDEX CONCURRENTLY that failed leaves "
            "it: statements go without it.",
            f"REINDEX INDEX CONCURRENTLY {index}; or, if it is not Conveyor's own: DROP INDEX CONCURRENTLY {index};",
        )


def idle_slots(fleet: Fleet) -> Iterator[Finding]:
    """Find replication slots that nobody reads, and for which much WAL is kept."""
    for slot, kept in LookManager().db_manager(fleet.alias).list_idle_slots():
        if kept > WAL_KEPT:
            yield warning(
                "wal_kept",
                f"nobody reads the replication slot {slot!r}, and the server keeps {kept / 1024**3:.1f} GB of WAL "
                "for it, until the disk is full.",
                f"Start its reader; or if that is gone: SELECT pg_drop_replication_slot('{slot}');",
            )


def clock(fleet: Fleet) -> Iterator[Finding]:
    """Find that this host's clock is not the server's."""
    look: LookManager = LookManager().db_manager(fleet.alias)
    asked = time.time()
    server = look.server_clock().timestamp()
    answered = time.time()
    skew = (asked + answered) / 2 - server
    # The answer may be as old as the way to it was long.
    if abs(skew) > SKEW + (answered - asked) / 2:
        yield warning(
            "clock_skew",
            f"this host's clock is {lasting(abs(skew))} {'ahead of' if skew > 0 else 'behind'} the database's. "
            "Leases and schedules go by the database's alone, but a run_after that is reckoned here is off by that, "
            "and so are logs.",
            "Let both hosts keep their time by NTP (chrony, systemd-timesyncd).",
        )


def _server(fleet: Fleet) -> Server:
    look: LookManager = LookManager().db_manager(fleet.alias)
    return look.read_server()


SETTINGS: Final = Check("The server's settings suit.", settings)
WRAPAROUND: Final = Check("Transaction ids are not old.", wraparound)
USED_UP: Final = Check("Sessions and notifications have room.", used_up)
INDEXES: Final = Check("Every index can be used.", invalid_indexes)
SLOTS: Final = Check("No replication slot hoards WAL.", idle_slots)
CLOCK: Final = Check("This host's clock is the database's.", clock)
