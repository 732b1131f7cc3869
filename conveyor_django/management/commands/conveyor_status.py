"""`manage.py conveyor_status`: queues, workers and cron at a glance, and what is wrong now."""

from __future__ import annotations

import json
import os
import shutil
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from typing import Any, Final

from django.core.management.base import CommandError
from django.core.management.color import no_style
from django.db import DatabaseError, connections

from ...conf import conveyor_settings
from ...operate.answers import as_json
from ...operate.findings import wrong_now
from ...operate.overview import overview
from ..reading import ReadingCommand
from ..startup import require_migrations
from ..status_text import Line, Painter, drawn, status_lines
from ..watching import watch

EVERY_SECONDS: Final = 2.0
LEAST_SECONDS, MOST_SECONDS = 0.1, 86_400.0


class Command(ReadingCommand):
    """Look, and change nothing."""

    help = "Show queues, workers and cron of each database at a glance, and what is wrong now."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the options."""
        parser.add_argument(
            "--database", metavar="ALIAS", help="The database to look at (default: every one with jobs)."
        )
        parser.add_argument("--json", action="store_true", help="As JSON: one line for each look.")
        parser.add_argument(
            "--watch", type=_seconds, nargs="?", const=EVERY_SECONDS, metavar="SECONDS",
            help=f"Again every so many seconds (default {EVERY_SECONDS:g}), in place on a terminal, until Ctrl-C.",
        )  # fmt: skip

    def handle(self, *, database: str | None, json: bool, watch: float | None, **_options: Any) -> None:
        """Look once, or until the end."""
        settings = conveyor_settings()
        aliases = [database] if database else list(settings.databases)
        for alias in aliases:
            require_migrations(alias, settings)
        if watch is None:
            self._once(aliases, as_data=json)
        else:
            self._watch(aliases, as_data=json, seconds=watch)

    def _once(self, aliases: Sequence[str], *, as_data: bool) -> None:
        reports = [Report(alias) for alias in aliases]
        for line in self._written(reports, as_data=as_data):
            self.stdout.write(line)
        if failed := [report.error for report in reports if report.error]:
            raise CommandError(" ".join(failed))

    def _watch(self, aliases: Sequence[str], *, as_data: bool, seconds: float) -> None:
        def look() -> list[str]:
            return self._written([Report(alias) for alias in aliases], as_data=as_data)

        # Not through the wrapper, which adds line ends and colours of its own.
        out: Any = self.stdout._out  # noqa: SLF001
        watch(look, out, seconds=seconds)

    def _written(self, reports: Sequence[Report], *, as_data: bool) -> list[str]:
        if as_data:
            return [json.dumps({"databases": [report.as_json() for report in reports]})]
        width = shutil.get_terminal_size().columns if self.stdout.isatty() else None
        lines = [line for report in reports for line in (*report.lines(), Line(""))]
        return list(drawn(lines, self._painters(), width=width))

    def _painters(self) -> dict[str, Painter]:
        # https://no-color.org: any value but the empty one.
        style: Any = no_style() if os.environ.get("NO_COLOR") else self.style
        return {
            "heading": style.MIGRATE_HEADING, "problem": style.ERROR, "warning": style.WARNING,
            "dim": style.HTTP_NOT_MODIFIED,
        }  # fmt: skip


class Report:
    """What was found in a database; where that was nothing, the `error` says why."""

    def __init__(self, alias: str) -> None:
        self.alias = alias
        self.error: str | None = None
        try:
            self._overview = overview(alias)
            self._findings = wrong_now(alias, self._overview)
        except DatabaseError as error:
            # A watch goes on when the database is back.
            connections[alias].close()
            self.error = f"Database {alias!r} cannot be read: {str(error).strip()}"

    def as_json(self) -> Any:
        """Return it as JSON data: an `error` where the database could not be read."""
        if self.error is not None:
            return {"database": self.alias, "error": self.error}
        return as_json(self._overview) | {"wrong_now": [finding.as_json() for finding in self._findings]}

    def lines(self) -> list[Line]:
        """Return it as lines of text."""
        if self.error is not None:
            return [Line(self.error, "problem")]
        return status_lines(self._overview, self._findings)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise ArgumentTypeError(f"must be seconds from {LEAST_SECONDS:g} to {MOST_SECONDS:,.0f}, not {text!r}")
    return seconds
