"""`manage.py conveyor_explain`: say why a job is not running."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError

from ...conf import conveyor_settings
from ...operate.explain import explain, last_error
from ...operate.wording import at, printable
from ...results import result_id
from ..reading import ReadingCommand
from ..startup import require_migrations

if TYPE_CHECKING:
    from ...operate.explain import Explanation, LastError


class Command(ReadingCommand):
    """Ask, and print."""

    help = "Say why a job is where it is, and what to do about it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the options."""
        parser.add_argument(
            "job", metavar="JOB_ID", help="A job's id, such as 42, or its result's, such as default:42."
        )
        parser.add_argument("--database", metavar="ALIAS", help="Where the job lives (default: CONVEYOR['DATABASE']).")
        # Django has a --traceback of its own, for the command's errors.
        parser.add_argument("--errors", action="store_true", help="Show the job's last error with its traceback too.")
        parser.add_argument("--json", action="store_true", dest="as_json", help="For a script.")

    def handle(self, *, job: str, database: str | None, errors: bool, as_json: bool, **_options: Any) -> None:
        """Explain the job."""
        named = _named(job, database)
        require_migrations(named.rpartition(":")[0], conveyor_settings())
        try:
            explanation, error = explain(named), last_error(named)
        except ValueError as wrong:
            raise CommandError(str(wrong)) from wrong
        if as_json:
            shown = {"last_error": error and error.as_json()} if errors else {}
            self.stdout.write(json.dumps(explanation.as_json() | shown, indent=2))
            return
        lines = _as_text(explanation)
        if errors:
            lines += _told(error)
        elif error is not None and error.traceback:
            lines.append(
                f"The traceback of its last error (run {error.run}): manage.py conveyor_explain {named} --errors"
            )
        self.stdout.write("\n".join(lines))


def _named(job: str, database: str | None) -> str:
    """Return the id of the job's result. Raises CommandError where the two do not name one job."""
    if job.isascii() and job.isdecimal():
        return result_id(database or conveyor_settings().database, int(job))
    alias = job.rpartition(":")[0]
    if alias not in conveyor_settings().databases:
        example = result_id(conveyor_settings().database, 42)
        raise CommandError(f"{job!r} names no job: give its id, such as 42, or its result's, such as {example}.")
    if database not in (None, alias):
        raise CommandError(
            f"{job!r} lives on database {alias!r}, but --database is {database!r}. Leave one of them out."
        )
    return job


def _as_text(explanation: Explanation) -> list[str]:
    lines = [f"{explanation.headline}."]
    for number, reason in enumerate(explanation.reasons, start=1):
        lines.append(f"{number}. [{reason.code.value}] {reason.text}")
        if reason.remedy:
            lines.append(f"   What to do: {reason.remedy}")
    return lines


def _told(error: LastError | None) -> list[str]:
    """Return the error as Python shows one; the text of an exception must not steer a terminal."""
    if error is None:
        return ["No error of it is kept."]
    text = error.traceback or f"{error.error_class}: {error.message}\n(no traceback: its process could not write one)"
    head = f"Its last error, which ended run {error.run} at {at(error.finished_at)} ({error.verb}):"
    return [head, *(printable(line.expandtabs(4)) for line in text.splitlines())]
