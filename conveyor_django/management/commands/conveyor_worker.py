"""`manage.py conveyor_worker`: run jobs."""

from __future__ import annotations

import logging
import sys
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.module_loading import autodiscover_modules

from ...conf import RANGES, bad_number, conveyor_settings
from ...log import configure
from ...scheduler.loop import SchedulerLoop
from ...worker.supervisor import Supervisor, WorkerOptions, once
from ..metrics import add_metrics_options, metrics_served, require_metrics
from ..startup import chosen_database, require_migrations, served_queues


class Command(BaseCommand):
    """Parse, build, run."""

    help = "Run jobs: a supervisor with child processes, and a scheduler beside them."
    requires_system_checks = "__all__"

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        settings = conveyor_settings()
        add = parser.add_argument
        add("--queues", default="", help="Comma-separated; default: those of TASKS on the database.")
        add("--processes", type=_positive, default=1, help="Child processes (default 1).")
        add("--concurrency", type=_positive, default=8, help="Jobs at once in each process (default 8).")
        add("--grace", type=float, default=settings.grace_seconds,
            help="Seconds that a stopping worker lets its jobs finish (default %(default)s).")  # fmt: skip
        add("--poll", type=float, default=settings.poll_seconds,
            help="Seconds between looks when nothing is heard (default %(default)s).")  # fmt: skip
        add("--max-jobs", type=_positive, help="Replace a child after it has run this many jobs.")
        add("--max-rss", type=_positive, metavar="MB", help="Replace a child that grew larger than this.")
        add("--drain", action="store_true", help="End when there is nothing left to claim.")
        add("--once", action="store_true", help="Run at most one job, then end.")
        add("--reload", action="store_true", help="Restart the children when source files change.")
        add("--no-scheduler", action="store_true", help="Leave rescue, promote and prune to others.")
        add("--database", metavar="ALIAS", help="The database to work on (default: CONVEYOR['DATABASE']).")
        add("--log-format", choices=["text", "json"], default="text")
        add_metrics_options(parser)

    def handle(self, **given: Any) -> None:
        """Run the worker; its exit code is the command's."""
        settings = conveyor_settings()
        require_metrics(given)
        level = [logging.WARNING, logging.INFO, logging.DEBUG, logging.DEBUG][given["verbosity"]]
        configure(given["log_format"], level)
        given["database"] = chosen_database(given["database"], settings)
        require_migrations(given["database"], settings)
        options = _options(given, level, served_queues(given["queues"], given["database"], settings))
        # So that an error in a task module shows here, once; --reload watches what is imported.
        autodiscover_modules("tasks")
        supervisor = Supervisor(options, settings=settings)
        scheduler: SchedulerLoop | None = None
        if not given["no_scheduler"]:
            scheduler = SchedulerLoop(alias=given["database"], settings=settings, on_error=supervisor.loop_failed)
            supervisor.accompany(scheduler)
        with metrics_served(given, alias=given["database"], supervisor=supervisor, scheduler=scheduler):
            code = supervisor.run()
        if code:
            sys.exit(code)


def _options(given: dict[str, Any], level: int, queues: tuple[str, ...]) -> WorkerOptions:
    options = WorkerOptions(
        alias=given["database"],
        queues=queues,
        processes=given["processes"],
        concurrency=given["concurrency"],
        grace=_seconds("--grace", given["grace"], "grace_seconds"),
        poll=_seconds("--poll", given["poll"], "poll_seconds"),
        max_jobs=given["max_jobs"],
        max_rss_bytes=given["max_rss"] * 1024 * 1024 if given["max_rss"] else None,
        drain=given["drain"],
        reload=given["reload"],
        log_format=given["log_format"],
        log_level=level,
        tallied=given["metrics_port"] is not None,
    )
    return once(options) if given["once"] else options


def _positive(text: str) -> int:
    """Return an option's whole number."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def _seconds(option: str, value: float, setting: str) -> float:
    """Return the option's value where the setting that it stands for may have it."""
    if complaint := bad_number(value, *RANGES[setting]):
        raise CommandError(f"{option} {complaint}.")
    return value
