"""`manage.py conveyor_doctor`: find what is wrong, or will be, and say what to do."""

from __future__ import annotations

import contextlib
import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import Error as DatabaseError
from django.db import connections

from ...conf import conveyor_settings
from ...operate.doctor.finding import Finding, Level, by_level, problem
from ...operate.doctor.project import project_findings
from ...operate.findings import examine
from ..reading import ReadingCommand


class Command(ReadingCommand):
    """Look at the project and at each database; the exit code is for monitoring."""

    help = (
        "Look for what is wrong or will be: settings, migrations, workers, schedulers, vacuum, locks, orphans. "
        "Exit code: 0 all is well, 1 there are warnings, 2 there are problems."
    )
    # They are a part of what is found.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the options."""
        parser.add_argument(
            "--database", metavar="ALIAS", help="The database to look at (default: every one with jobs)."
        )
        parser.add_argument("--json", action="store_true", dest="as_json", help="For a script; with what is well, too.")
        parser.add_argument("--verbose", action="store_true", help="Say also what is well.")

    def handle(self, *, database: str | None, as_json: bool, verbose: bool, **_options: Any) -> None:
        """Look, print, and exit with how bad it is."""
        found: dict[str, list[Finding]] = {"project": project_findings()}
        found |= {alias: _examined(alias) for alias in _aliases(database)}
        worst = max((each.level.exit_code for findings in found.values() for each in findings), default=0)
        text = json.dumps(_as_json(found, worst), indent=2) if as_json else "\n".join(_lines(found, verbose=verbose))
        # The exit code is said also to who does not read.
        with contextlib.suppress(BrokenPipeError):
            self.stdout.write(text)
        if worst:
            sys.exit(worst)


def _aliases(given: str | None) -> list[str]:
    """Return the databases that can be looked at; what is wrong with the others, the project's checks say."""
    if given is not None and given not in connections:
        raise CommandError(f"database alias {given!r} is not in DATABASES: {', '.join(connections)}.")
    try:
        aliases = [given] if given else list(conveyor_settings().databases)
    except ImproperlyConfigured:
        return []
    if given and connections[given].vendor != "postgresql":
        raise CommandError(
            f"database {given!r} is {connections[given].display_name}, and jobs live in PostgreSQL only."
        )
    return [alias for alias in aliases if alias in connections and connections[alias].vendor == "postgresql"]


def _examined(alias: str) -> list[Finding]:
    try:
        return examine(alias)
    except DatabaseError as error:
        text = f"database {alias!r} cannot be used: {str(error).strip() or repr(error)}"
        return [problem("database", text, f"See that it runs, and correct DATABASES[{alias!r}] if it is another.")]


def _as_json(found: dict[str, list[Finding]], worst: int) -> dict[str, Any]:
    return {
        "level": list(Level)[worst].value,
        "findings": [{"place": place} | each.as_json() for place, findings in found.items() for each in findings],
    }


def _lines(found: dict[str, list[Finding]], *, verbose: bool) -> Iterator[str]:
    """Yield a line for each finding, and one for what to do."""
    counts = dict.fromkeys(Level, 0)
    for place, findings in found.items():
        for each in by_level(findings):
            counts[each.level] += 1
            if each.level is Level.OK:
                if verbose:
                    yield f"{place}: ok       {each.problem}"
                continue
            yield f"{place}: {each.level.value:<8} [{each.code}] {each.problem}"
            yield f"{' ' * len(place)}  What to do: {each.remedy}"
    yield (
        f"problems: {counts[Level.PROBLEM]}, warnings: {counts[Level.WARNING]}; checks that found all well: "
        f"{counts[Level.OK]}." + ("" if verbose else " Those are shown by --verbose.")
    )
