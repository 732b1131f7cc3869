"""`manage.py conveyor_retry`: make failed or cancelled jobs ready again, named ones or all that match."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError

from ...conf import conveyor_settings
from ...control import requeue
from ...operate.selection import DEAD, requeue_matching
from ...operate.states import states_of
from ...states import JobState
from ..base import counted
from ..filters import add_places, add_times, filter_from, has_filter, named_jobs
from ..many import ManyJobsCommand

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from ...models import Job


class Command(ManyJobsCommand):
    """Requeue jobs: with fresh budgets, and a fence that goes on growing."""

    help = (
        "Make failed jobs ready again, with fresh budgets: those named, or all that match the options. Exit code: 0 if "
        "it is done, 1 if a job named could not be retried, 130 if a signal stopped it between two batches."
    )
    verb = "retry"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the options."""
        parser.add_argument("ids", nargs="*", metavar="ID", help="A job: 42, or default:42.")
        add_places(parser, DEAD, default="failed, where jobs are not named")
        add_times(parser, "ended")
        parser.add_argument("--error", metavar="TEXT", help="Whose last error has this in its class or message.")
        self.add_database(parser, "Only jobs of this database")
        self.add_pace(parser)

    def handle(self, *, ids: list[str], database: str | None, as_json: bool, **options: Any) -> None:
        """Retry those that are named, or those that match."""
        settings = conveyor_settings()
        if bool(ids) == has_filter(options):
            raise CommandError(
                "Name the jobs to retry by their ids, or say which by --queue, --task, --state, --since, --until or "
                "--error; not both. All failed ones: --state failed."
            )
        aliases = self.databases(database, settings)
        if ids:
            self._retry(named_jobs(ids, database, settings), dry_run=options["dry_run"], as_json=as_json)
            return
        chosen = filter_from(options, default=[JobState.FAILED])
        self.run_on(
            {alias: chosen.jobs(alias) for alias in aliases}, dry_run=options["dry_run"],
            asks=options["interactive"], per_second=options["rate"], as_json=as_json,
        )  # fmt: skip

    def batches(self, jobs: QuerySet[Job], size: int) -> Iterator[Mapping[str, int]]:
        """Requeue, a transaction for each batch."""
        for count in requeue_matching(jobs, batch=size):
            yield {"retried": count}

    def _retry(self, names: list[str], *, dry_run: bool, as_json: bool) -> None:
        try:
            states = states_of(names)
            retried = [name for name in names if states[name] in DEAD] if dry_run else requeue(*names)
        except ValueError as error:
            raise CommandError(str(error)) from error
        # As they are now: what kept them from being retried is better known after than before.
        refused = {name: state for name, state in states_of(names).items() if name not in retried}
        if as_json:
            self.print_json({"retried": retried, "refused": refused, "dry_run": dry_run})
        else:
            self.stdout.write(f"{counted(len(retried))} {'would be ' if dry_run else ''}retried.")
        if refused:
            reasons = "; ".join(f"{name} {_reason(state)}" for name, state in refused.items())
            raise CommandError(f"Not retried: {reasons}.")


def _reason(state: JobState | None) -> str:
    if state is None:
        return "does not exist (any more)"
    if state in DEAD:
        return f"is {state}, but somebody has it locked: try again"
    if state is JobState.SUCCEEDED:
        return "has succeeded, and a success is not undone: enqueue a new job"
    return f"is {state}: only failed and cancelled jobs are retried"
