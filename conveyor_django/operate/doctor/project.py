"""Whether the project is set up: its settings, and its migrations. Asked before anything is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.migrations.loader import MigrationLoader

from ...conf import conveyor_settings
from .finding import Finding, problem, warning

_APP: Final = "conveyor"


def project_findings() -> list[Finding]:
    """Return what the system checks of Conveyor say, save those that are silenced; and what settings do not suit."""
    found = [message for message in checks.run_checks() if str(message.id).startswith(f"{_APP}.")]
    told = [_of_message(message) for message in found if not message.is_silenced()]
    return [*told, *_unsuited()]


def _of_message(message: checks.CheckMessage) -> Finding:
    make = problem if message.is_serious() else warning
    return make(str(message.id), str(message.msg), str(message.hint or "See docs: the checks."))


def _unsuited() -> Iterator[Finding]:
    try:
        settings = conveyor_settings()
    except ImproperlyConfigured:
        # The check of that told.
        return
    if settings.scheduler_seconds > settings.lease_seconds:
        yield warning(
            "scheduler_slow",
            f"CONVEYOR['SCHEDULER_SECONDS'] ({settings.scheduler_seconds:g}) is more than CONVEYOR['LEASE_SECONDS'] "
            f"({settings.lease_seconds:g}): a lapsed lease waits for its rescue for longer than it was good.",
            "Set SCHEDULER_SECONDS to a few seconds; a look costs some index probes.",
        )


def unapplied(alias: str) -> list[Finding]:
    """Return that migrations of Conveyor's are not applied in the database, if so. Database errors pass through."""
    loader = MigrationLoader(connections[alias])
    # Not by a plan, which ends at the newest: one that is missing in between is missing too.
    missing = sorted(
        name for app, name in loader.graph.nodes if app == _APP and (app, name) not in loader.applied_migrations
    )
    if not missing:
        return []
    return [
        problem(
            "migrations",
            f"database {alias!r} lacks migrations of Conveyor's: {', '.join(missing)}.",
            f"manage.py migrate {_APP} --database {alias}",
        )
    ]
