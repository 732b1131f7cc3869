"""`manage.py conveyor_cron`: the cron entries, and when they tick next."""

from __future__ import annotations

import datetime as dt
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from typing import Any, Final

from django.core.management.base import CommandError
from django.db import DatabaseError
from django.utils import timezone
from django.utils.module_loading import autodiscover_modules

from ...conf import ConveyorSettings, conveyor_settings
from ...cronspec import CronSpec
from ...crontab import declared_entries
from ...errors import InvalidCron
from ...models import Cron
from ..reading import ReadingCommand
from ..startup import require_migrations

MOST: Final = 1000


class Command(ReadingCommand):
    """List, and change nothing."""

    help = "List the cron entries with their next ticks."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the options."""
        parser.add_argument(
            "--preview", type=_count, default=1, metavar="N", help="How many of the next ticks of each (default 1)."
        )
        parser.add_argument("--database", metavar="ALIAS", help="Whose entries (default: every one with jobs).")

    def handle(self, *, preview: int, database: str | None, **_options: Any) -> None:
        """List the entries of each database."""
        settings = conveyor_settings()
        aliases = [database] if database else settings.databases
        for alias in aliases:
            require_migrations(alias, settings)
        autodiscover_modules("tasks")
        for alias in aliases:
            self._list(alias, settings, preview, place=f"{alias}: " if len(aliases) > 1 else "")

    def _list(self, alias: str, settings: ConveyorSettings, preview: int, *, place: str) -> None:
        """Print each entry of the database, and those of the code that no scheduler has written there yet."""
        try:
            entries = list(Cron.objects.using(alias).order_by("name"))
        except DatabaseError as error:
            raise CommandError(f"Database {alias!r} cannot be read: {error}") from error
        written = {entry.name for entry in entries}
        new = [
            entry
            for name, entry in sorted(declared_entries().items())
            if name not in written and settings.database_of(entry.queue) == alias
        ]
        for entry in entries:
            self._print(place + entry.name, (entry.expression, entry.zone), f"{entry.task}; {_state(entry)}", preview)
        for declared in new:
            state = f"{declared.task.module_path}; in the code; no scheduler has seen it yet"
            self._print(place + declared.name, (declared.spec.expression, declared.spec.zone), state, preview)
        if not entries and not new:
            self.stdout.write(f"Database {alias!r} has no cron entries.")

    def _print(self, name: str, schedule: tuple[str, str], state: str, count: int) -> None:
        expression, zone = schedule
        self.stdout.write(f"{name}: {expression} ({zone}) {state}")
        for line in _ticks(expression, zone, count):
            self.stdout.write(f"    {line}")


def _state(entry: Cron) -> str:
    """Return where the entry comes from, whether it is enabled, and its last tick."""
    origin = "in the code" if entry.declared else "made in the admin"
    last = f"last tick {_shown(entry.last_tick)}" if entry.last_tick else "no tick yet"
    return ", ".join([origin, *([] if entry.enabled else ["switched off"]), last])


def _ticks(expression: str, zone: str, count: int) -> Iterator[str]:
    """Yield the next ticks, on the entry's clock and in UTC; or why there are none."""
    try:
        spec = CronSpec(expression, zone)
    except InvalidCron as error:
        yield f"broken: {error}"
        return
    for tick in spec.upcoming(count, after=timezone.now()):
        yield f"{_shown(spec.local(tick))} = {_shown(tick)}"


def _shown(instant: dt.datetime) -> str:
    return f"{instant:%a %Y-%m-%d %H:%M:%S %z}"


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST:
        raise ArgumentTypeError(f"must be a whole number from 0 to {MOST}, not {text!r}")
    return int(text)
