"""Whether this process lives, and whether it can do its work; for load balancers, so without a token."""

from __future__ import annotations

import logging
import pkgutil
from functools import cache

from django.db import DatabaseError, connections
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse
from ninja import Router

from .. import migrations
from ..conf import conveyor_settings
from ..log import event, get_logger
from .outputs import Health, reply
from .problems import RETRY_SECONDS, Problem

router = Router()
logger = get_logger("api")


@router.get("/health/live", response=Health, operation_id="live")
def live(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """Say that the process answers; looks at no database."""
    return reply(Health(status="live"))


@router.get("/health/ready", response=Health, operation_id="ready")
def ready(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """Say that each database with jobs can be read and has Conveyor's migrations; 503 where one is not so."""
    for alias in conveyor_settings().databases:
        if reason := _unready(alias):
            # Which database it is stands in the log: anybody may ask here.
            event(logger, logging.WARNING, "api.unready", database=alias, reason=reason)
            raise Problem(
                503, "not-ready", "A database with jobs cannot be used; the log names it.",
                headers={"Retry-After": str(RETRY_SECONDS)},
            )  # fmt: skip
    return reply(Health(status="ready"))


def _unready(alias: str) -> str | None:
    """Return why a database cannot be used."""
    try:
        applied = MigrationRecorder(connections[alias]).applied_migrations()
    except DatabaseError as error:
        return str(error).strip()
    if missing := sorted(_ours() - {name for app, name in applied if app == "conveyor"}):
        return f"migrations are not applied: {', '.join(missing)}; run `manage.py migrate --database {alias}`"
    return None


@cache
def _ours() -> frozenset[str]:
    return frozenset(module.name for module in pkgutil.iter_modules(migrations.__path__))
