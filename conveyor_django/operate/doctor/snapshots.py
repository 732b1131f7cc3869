"""Whether something holds a snapshot open, so that vacuum cannot remove dead rows and every claim walks past them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...managers.looking import Holder, LookManager
from ..fleet import Fleet
from ..wording import lasting
from .finding import Check, Finding, warning

# Seconds that a transaction may be open; where nobody can say, transactions that have begun since.
LONG: Final = 300.0
MANY: Final = 1_000_000


def snapshot_holders(fleet: Fleet) -> Iterator[Finding]:
    """Find what has held back vacuum for LONG."""
    look: LookManager = LookManager().db_manager(fleet.alias)
    for holder in look.list_snapshot_holders(seconds=LONG, transactions=MANY, now=fleet.now):
        yield _FOUND[holder.kind](holder)


def _of_session(holder: Holder) -> Finding:
    name = f" ({holder.application_name})" if holder.application_name else ""
    return warning(
        "snapshot_held",
        f"backend {holder.name}{name} has a transaction open for {_since(holder)}"
        f"{', ' + holder.state if holder.state else ''}: vacuum cannot remove rows that have died since.",
        f"End that transaction where it was begun; or the session: SELECT pg_terminate_backend({holder.name});",
    )


def _of_prepared(holder: Holder) -> Finding:
    return warning(
        "prepared_transaction",
        f"the prepared transaction {holder.name!r} waits for its end for {_since(holder)}: vacuum cannot remove rows "
        f"that have died since, and it keeps its locks.",
        f"Ask its transaction manager; or end it: ROLLBACK PREPARED {_quoted(holder.name)};",
    )


def _of_slot(holder: Holder) -> Finding:
    return warning(
        "replication_slot",
        f"the {holder.state} replication slot {holder.name!r} holds a snapshot that is {holder.age:,} transactions "
        f"old: vacuum cannot remove rows that have died since.",
        f"Let its standby catch up; or if it is gone: SELECT pg_drop_replication_slot({_quoted(holder.name)});",
    )


_FOUND: Final = {"session": _of_session, "prepared": _of_prepared, "slot": _of_slot}


def _since(holder: Holder) -> str:
    return f"{holder.age:,} transactions" if holder.seconds is None else lasting(holder.seconds)


def _quoted(text: str) -> str:
    """Return text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


SNAPSHOTS: Final = Check("Nothing holds back vacuum.", snapshot_holders)
