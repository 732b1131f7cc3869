"""`manage.py conveyor_cancel`: cancel jobs, named ones or all that match."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from django.core.management.base import CommandError

from ...conf import conveyor_settings
from ...control import cancel
from ...operate.selection import OPEN, cancel_matching
from ...operate.states import states_of
from ...states import JobState
from ..arguments import seconds
from ..filters import add_places, add_times, filter_from, has_filter, named_jobs
from ..many import ManyJobsCommand

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from ...models import Job

_GONE: Final = "gone"


class Command(ManyJobsCommand):
    """Cancel jobs: those that wait at once, those that run by a request to their worker."""

    help = (
        "Cancel jobs: those named, or all that match the options. One that runs is asked to stop, and ends as "
        "cancelled unless it succeeds first. Exit code: 0 if it is done, 1 if a job named had ended otherwise, does "
        "not exist, or still runs after --wait, 130 if a signal stopped it between two batches."
    )
    verb = "cancel"
    words: ClassVar = {
        JobState.RUNNING.value: "running, and asked to stop",
        JobState.SUCCEEDED.value: "had succeeded",
        JobState.FAILED.value: "had failed",
    }

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the options."""
        parser.add_argument("ids", nargs="*", metavar="ID", help="A job: 42, or default:42.")
        add_places(parser, OPEN, default="all of them, where jobs are not named")
        add_times(parser, "were enqueued")
        parser.add_argument("--error", metavar="TEXT", help="Whose last error has this in its class or message.")
        parser.add_argument(
            "--wait", type=seconds, metavar="SECONDS", help="Wait so long for the end of a job that is named and runs."
        )
        self.add_database(parser, "Only jobs of this database")
        self.add_pace(parser)

    def handle(
        self, *, ids: list[str], database: str | None, wait: float | None, as_json: bool, **options: Any
    ) -> None:
        """Cancel those that are named, or those that match."""
        settings = conveyor_settings()
        if bool(ids) == has_filter(options):
            raise CommandError(
                "Name the jobs to cancel by their ids, or say which by --queue, --task, --state, --since, --until or "
                "--error; not both. All that wait: --state blocked --state scheduled --state ready."
            )
        if wait is not None and not ids:
            raise CommandError(f"--wait {wait:g} is for jobs that are named by their ids. Leave it out here.")
        aliases = self.databases(database, settings)
        if ids:
            self._cancel(named_jobs(ids, database, settings), wait, dry_run=options["dry_run"], as_json=as_json)
            return
        chosen = filter_from(options, default=OPEN, clock="created_at")
        self.run_on(
            {alias: chosen.jobs(alias) for alias in aliases}, dry_run=options["dry_run"],
            asks=options["interactive"], per_second=options["rate"], as_json=as_json,
        )  # fmt: skip

    def batches(self, jobs: QuerySet[Job], size: int) -> Iterator[Mapping[str, int]]:
        """Cancel, a transaction for each batch."""
        for states in cancel_matching(jobs, batch=size):
            yield {state.value if state else _GONE: count for state, count in states.items()}

    def _cancel(self, names: list[str], wait: float | None, *, dry_run: bool, as_json: bool) -> None:
        try:
            # Of all, before any is changed.
            states = states_of(names)
        except ValueError as error:
            raise CommandError(str(error)) from error
        if not dry_run:
            states = {name: cancel(name, wait=wait) for name in names}
        if as_json:
            self.print_json({"jobs": states, "dry_run": dry_run})
        else:
            for name, state in states.items():
                word = state.value if state else _GONE
                self.stdout.write(f"{name}: {word if dry_run else self.words.get(word, word)}")
        fine = set(OPEN) if dry_run else {JobState.CANCELLED, *([JobState.RUNNING] if wait is None else [])}
        if missed := [name for name, state in states.items() if state not in fine]:
            raise CommandError(f"Not cancelled: {', '.join(missed)}.")
