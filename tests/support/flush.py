"""Emptying the tables between tests that commit: by DELETE, since TRUNCATE makes every table's files anew."""

from __future__ import annotations

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

# For the transaction: no foreign keys' checks, and not the ledger's trigger, which lets nobody delete.
_UNGUARDED = "SELECT set_config('session_replication_role', 'replica', true)"


def flush_by_delete(connection: BaseDatabaseWrapper) -> None:
    """Let Django's flush of this database delete; as it is where the role may not do without triggers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        if not cursor.fetchone()[0]:
            return

    def sql_flush(_style: Any, tables: Any, **_options: Any) -> list[str]:
        deletions = "; ".join(f"DELETE FROM {connection.ops.quote_name(table)}" for table in tables)
        return [_UNGUARDED, deletions]

    connection.ops.sql_flush = sql_flush  # type: ignore[method-assign]
