"""What the operating commands have in common: databases, questions, JSON, and errors of the database."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any, Final

import psycopg
from django.core.management.base import CommandError
from django.db import Error as DjangoError

from ..conf import ConveyorSettings
from ..errors import DatabaseUnsupported
from .reading import PipedCommand
from .startup import require_migrations

# The exit code of a command that a signal has stopped between two batches, as a shell's for SIGINT.
INTERRUPTED: Final = 130


class OperatingCommand(PipedCommand):
    """A command for whoever operates the queues. It ends with 0 where it did what it was told, else with 1."""

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run; an error of the database is the command's, in one line."""
        try:
            return super().execute(*args, **options)
        except (DjangoError, psycopg.Error) as error:
            raise CommandError(
                f"The database refused: {str(error).strip() or repr(error)}. What was said to be done until then is "
                f"done; once the cause is mended, run this again."
            ) from error
        except DatabaseUnsupported as error:
            raise CommandError(str(error)) from error

    def add_database(self, parser: ArgumentParser, what: str) -> None:
        """Define ``--database``; `what` says what it limits."""
        parser.add_argument("--database", metavar="ALIAS", help=f"{what} (default: every one with jobs).")

    def add_json(self, parser: ArgumentParser) -> None:
        """Define ``--json``."""
        parser.add_argument(
            "--json", action="store_true", dest="as_json", help="Print one JSON object and nothing else."
        )

    def add_question(self, parser: ArgumentParser) -> None:
        """Define ``--no-input`` as Django's commands do."""
        parser.add_argument(
            "--no-input", "--noinput", action="store_false", dest="interactive", help="Do it without asking."
        )

    def databases(self, given: str | None, settings: ConveyorSettings) -> list[str]:
        """Return the database named, else all with jobs.

        Raises CommandError for one without Conveyor's tables, or where no queue lives.
        """
        aliases = [given] if given else list(settings.databases)
        for alias in aliases:
            require_migrations(alias, settings)
        if given and given not in settings.databases:
            raise CommandError(
                f"No queue lives on database {given!r}: CONVEYOR names {', '.join(map(repr, settings.databases))}. "
                f"Correct --database, or CONVEYOR['QUEUES']."
            )
        return aliases

    def ask(self, question: str) -> None:
        """Raise CommandError unless the answer is yes. Asked on stderr: stdout may be JSON."""
        self.stderr.write(f"{question} [y/N] ", style_func=str, ending="")
        self.stderr.flush()
        try:
            answer = input()
        except EOFError as error:
            raise CommandError("Nobody answered, so nothing was changed. Pass --no-input to do it unasked.") from error
        if answer.strip().lower() not in {"y", "yes"}:
            raise CommandError("Nothing was changed.")

    def print_json(self, value: Any) -> None:
        """Print a value for programs."""
        self.stdout.write(json.dumps(value))


def counted(number: int, what: str = "job", *, bounded_by: int | None = None) -> str:
    """Return a number with its noun: ``1 job``, ``1,200 jobs``, ``more than 100,000 jobs``."""
    if bounded_by is not None and number > bounded_by:
        return f"more than {bounded_by:,} {what}s"
    return f"{number:,} {what}{'' if number == 1 else 's'}"
