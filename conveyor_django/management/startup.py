"""What the commands look at before they run."""

from __future__ import annotations

import logging
from typing import Final

import psycopg
from django.core.management.base import CommandError
from django.db import connections

from ..compat import task_backends
from ..conf import ConveyorSettings
from ..db import connect, is_transient
from ..errors import DatabaseUnsupported
from ..log import event, get_logger

logger = get_logger("startup")

# Of a connection that fails psycopg has no SQLSTATE, only the server's words: no such database or role, wrong password.
# In another language they are waited for, like any outage.
_NEVER: Final = ('" does not exist', "password authentication failed")


def require_migrations(alias: str, settings: ConveyorSettings) -> None:
    """Raise CommandError if the tables are missing; a database that is away is waited for later."""
    if alias not in connections:
        raise CommandError(f"database alias {alias!r} is not in DATABASES: {', '.join(connections)}.")
    try:
        with connect(alias, "conveyor startup", lease_seconds=settings.lease_seconds) as connection:
            connection.execute("SELECT FROM conveyor_job LIMIT 0")
    except psycopg.errors.UndefinedTable as error:
        raise CommandError(
            f"Database {alias!r} has no Conveyor tables ({error.diag.message_primary}). "
            f"Run `manage.py migrate --database {alias}`, then start again."
        ) from error
    except DatabaseUnsupported as error:
        raise CommandError(str(error)) from error
    except psycopg.Error as error:
        if any(text in str(error) for text in _NEVER):
            raise CommandError(
                f"Database {alias!r} cannot be used: {str(error).strip()}. Correct DATABASES[{alias!r}]."
            ) from error
        if not is_transient(error):
            raise
        event(logger, logging.WARNING, "database.unavailable", database=alias, error=str(error).strip())


def declared_queues() -> tuple[str, ...]:
    """Return the queues of Conveyor's backends in TASKS; none if one of them takes any queue.

    Raises CommandError if no backend is Conveyor's.
    """
    from ..backend import ConveyorBackend

    ours = [backend for backend in task_backends.all() if isinstance(backend, ConveyorBackend)]
    if not ours:
        raise CommandError(
            "No backend in TASKS is Conveyor's, so no task of this project can be run from its queues. "
            "Set TASKS['default']['BACKEND'] to 'conveyor_django.backend.ConveyorBackend'."
        )
    if any(not backend.queues for backend in ours):
        return ()
    return tuple(sorted({queue for backend in ours for queue in backend.queues}))
