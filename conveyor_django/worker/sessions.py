"""Django's own connections in a worker process: kept open, named after the owner, and bounded (rule 7)."""

from __future__ import annotations

import uuid
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from ..managers.workers import application_name


def prepare_sessions(alias: str, owner: uuid.UUID, lease_seconds: float) -> None:
    """Set up every Django connection that this process will open; call it before any thread opens one.

    They persist whatever CONN_MAX_AGE says (the executor checks and closes them itself). Those to `alias` carry
    the owner in application_name, so that a rescuer can end them, and cannot sit in a transaction for longer
    than a lease: a frozen handler must not keep its locks.
    """
    for name in connections:
        settings = connections[name].settings_dict
        settings["CONN_MAX_AGE"] = None
        settings["CONN_HEALTH_CHECKS"] = False
        # A pool hands out connections that others have used, and Django refuses to keep one open.
        settings.get("OPTIONS", {}).pop("pool", None)
    options = connections[alias].settings_dict.setdefault("OPTIONS", {})
    milliseconds = max(1000, int(lease_seconds * 1000))
    for key, value in {"keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3,
                       "tcp_user_timeout": milliseconds}.items():  # fmt: skip
        options.setdefault(key, value)

    def name_session(connection: BaseDatabaseWrapper, **_: Any) -> None:
        if connection.alias != alias or _is_pooled(connection):
            return
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('application_name', %s, false),"
                " set_config('idle_in_transaction_session_timeout', %s, false)",
                (application_name(owner, "executor"), f"{milliseconds}ms"),
            )

    connection_created.connect(name_session, weak=False)


def _is_pooled(connection: BaseDatabaseWrapper) -> bool:
    """Say whether a pooler stands between: session settings would then be somebody else's."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return bool(cursor.fetchone()[0] != connection.connection.info.backend_pid)
