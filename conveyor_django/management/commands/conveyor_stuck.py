"""`manage.py conveyor_stuck`: prove that no job waits for ever, or say which one does, and why."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import CommandError

from ...conf import conveyor_settings
from ...managers.release import sweep_once
from ...models import Workflow
from ...notify import notify_now
from ...transactions import joined
from ..reading import ReadingCommand
from ..startup import require_migrations

# Lines that are printed at most, for each database.
SHOWN: Final = 1000


class Command(ReadingCommand):
    """Look through every blocked job; exit with 1 if one of them is stuck."""

    help = "List blocked jobs that nothing will release, with the reason; exit with 1 if there are any."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the options."""
        parser.add_argument(
            "--database", metavar="ALIAS", help="The database to look at (default: every one with jobs)."
        )
        parser.add_argument(
            "--sweep", action="store_true", help="First release what is late, as every scheduler does each second."
        )

    def handle(self, *, database: str | None, sweep: bool, **_options: Any) -> None:
        """Look at each database."""
        settings = conveyor_settings()
        found = 0
        for alias in [database] if database else settings.databases:
            require_migrations(alias, settings)
            if sweep:
                self._sweep(alias)
            found += self._look(alias)
        if found:
            raise CommandError(
                f"{found} blocked jobs wait for nothing that will come. A scheduler's sweep releases what is only late "
                f"within a second or two: look again, with --sweep if no scheduler runs. What is still listed then: "
                f"cancel it, and retry it if it is to run (manage.py conveyor_cancel and conveyor_retry, or the admin)."
            )
        self.stdout.write("No job is stuck: each blocked one waits for a job that has not ended.")

    def _sweep(self, alias: str) -> None:
        changed = 0
        while swept := self._sweep_once(alias):
            changed += swept
        self.stdout.write(f"{alias}: the sweep changed {changed} jobs and workflows.")

    def _sweep_once(self, alias: str) -> int:
        with joined(alias):
            swept = sweep_once(alias=alias)
        if swept.queues:
            notify_now(sorted(swept.queues), alias=alias)
        return swept.changed

    def _look(self, alias: str) -> int:
        """Print the stuck jobs of a database; return how many there are."""
        stuck = Workflow.objects.db_manager(alias).find_stuck(limit=SHOWN)
        for job in stuck:
            self.stdout.write(f"{alias}: job {job.id} ({job.task}) of workflow {job.workflow_id}: {job.reason}")
        return len(stuck)
