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
from ..enqueue import stores_jobs
from ..errors import DatabaseUnsupported
from ..log import event, get_logger
from ..queues import declared_queues

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


def chosen_database(given: str | None, settings: ConveyorSettings) -> str:
    """Return the database to work on; where it was left to the setting, say in the log which others are left out."""
    others = [alias for alias in settings.databases if alias != settings.database]
    if given is None and others:
        event(
            logger, logging.WARNING, "databases.left_out", database=settings.database, others=",".join(others),
            fix="run one with --database for each of them too, or name this one by --database",
        )  # fmt: skip
    return given or settings.database


def served_queues(text: str, alias: str, settings: ConveyorSettings) -> tuple[str, ...]:
    """Return the queues that `--queues` names, else those of TASKS, that live on `alias`; () for all that have jobs.

    Raises CommandError for a queue that TASKS does not declare or that lives on another database, and where none is
    left or no backend is Conveyor's.
    """
    _require_backend()
    declared = declared_queues()
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if unknown := [name for name in names if declared and name not in declared]:
        raise CommandError(
            f"--queues names {', '.join(map(repr, unknown))}, but TASKS declares {', '.join(map(repr, declared))}. "
            f"Correct the name, or add it to QUEUES of a Conveyor backend in TASKS."
        )
    for name in names:
        if (other := settings.database_of(name)) != alias:
            raise CommandError(
                f"--queues names {name!r}, whose jobs live on database {other!r}, but this worker's is {alias!r}. "
                f"Run a worker with --database {other} for it."
            )
    if names or not declared:
        return names
    if not (own := tuple(name for name in declared if settings.database_of(name) == alias)):
        raise CommandError(
            f"No queue of TASKS lives on database {alias!r}; they live on "
            f"{', '.join(map(repr, sorted(set(map(settings.database_of, declared)))))}. Correct --database, or "
            f"CONVEYOR['QUEUES']."
        )
    return own


def _require_backend() -> None:
    """Raise CommandError if no backend in TASKS is Conveyor's."""
    if not any(map(stores_jobs, task_backends.all())):
        raise CommandError(
            "No backend in TASKS is Conveyor's, so no task of this project can be run from its queues. "
            "Set TASKS['default']['BACKEND'] to 'conveyor_django.backend.ConveyorBackend'."
        )
