"""`manage.py conveyor_scheduler`: promote, tick, rescue and prune, without running jobs."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

import psycopg
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from django.utils.module_loading import autodiscover_modules

from ...conf import conveyor_settings
from ...errors import DatabaseUnsupported
from ...log import FORMATTERS, configure
from ...scheduler.foreground import run_scheduler
from ..metrics import add_metrics_options, metrics_served, require_metrics
from ..startup import chosen_database


class Command(BaseCommand):
    """Run a scheduler alone; workers started with --no-scheduler need one."""

    help = "Run Conveyor's scheduler: promote due jobs, enqueue cron's, rescue lost ones, prune old ones."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the options."""
        parser.add_argument(
            "--database", metavar="ALIAS", help="The database to look after (default: CONVEYOR['DATABASE'])."
        )
        parser.add_argument(
            "--once",
            action="store_true",
            help="Look once and exit. Workers that lost their session lock are found by a second look only.",
        )
        parser.add_argument("--log-format", choices=sorted(FORMATTERS), default="text", help="Default: text.")
        add_metrics_options(parser)

    def handle(self, *, database: str | None, once: bool, log_format: str, **given: Any) -> None:
        """Run until SIGTERM or SIGINT."""
        settings = conveyor_settings()
        require_metrics(given)
        configure(log_format)
        alias = chosen_database(database, settings)
        if alias not in connections:
            known = ", ".join(sorted(connections))
            raise CommandError(f"There is no database alias {alias!r} in DATABASES; there are: {known}.")
        # They declare cron entries.
        autodiscover_modules("tasks")
        try:
            loop = run_scheduler(
                alias=alias, settings=settings, once=once,
                watched_by=lambda loop: metrics_served(given, alias=alias, scheduler=loop),
            )  # fmt: skip
        except psycopg.errors.UndefinedTable as error:
            raise CommandError(
                f"Database {alias!r} has no Conveyor tables ({error.diag.message_primary}). "
                f"Run `manage.py migrate --database {alias}`, then start again."
            ) from error
        except DatabaseUnsupported as error:
            raise CommandError(str(error)) from error
        if once and loop.errors:
            failed = ", ".join(sorted(loop.errors))
            raise CommandError(f"These duties failed: {failed}. The lines above say why.")
