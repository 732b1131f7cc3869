"""What the commands look at before they run."""

from __future__ import annotations

import logging

from django.core.management.base import CommandError
from django.db import OperationalError, ProgrammingError, connections

from ..compat import task_backends
from ..log import event, get_logger
from ..models import Job

logger = get_logger("startup")


def require_migrations(alias: str) -> None:
    """Raise CommandError if the tables are missing; a database that is away is waited for later."""
    if alias not in connections:
        raise CommandError(f"database alias {alias!r} is not in DATABASES: {', '.join(connections)}.")
    try:
        Job.objects.using(alias).only("pk").first()
    except ProgrammingError as error:
        raise CommandError(
            f"Conveyor's tables are missing or old on {alias!r} ({str(error).splitlines()[0]}). "
            f"Run `manage.py migrate --database {alias}` first."
        ) from error
    except OperationalError as error:
        event(logger, logging.WARNING, "database.unavailable", alias=alias, error=str(error).splitlines()[0])
    finally:
        connections[alias].close()


def declared_queues() -> tuple[str, ...]:
    """Return the queues of Conveyor's backends in TASKS; none if one of them takes any queue."""
    from ..backend import ConveyorBackend

    ours = [backend for backend in task_backends.all() if isinstance(backend, ConveyorBackend)]
    if not ours or any(not backend.queues for backend in ours):
        return ()
    return tuple(sorted({queue for backend in ours for queue in backend.queues}))
