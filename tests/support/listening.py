"""What the database shows of listening workers."""

from __future__ import annotations

from django.db import connections


def somebody_listens() -> bool:
    """Say whether a worker on the test database waits for notifications."""
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name LIKE 'conveyor %% listener' AND query LIKE 'LISTEN%%' AND state = 'idle'"
        )
        return cursor.fetchone()[0] > 0
