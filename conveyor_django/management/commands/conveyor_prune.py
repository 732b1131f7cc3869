"""`manage.py conveyor_prune`: delete ended jobs now, by their retention or by their age."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...conf import conveyor_settings
from ...operate.pruning import prunable, prune_matching
from ...states import TERMINAL, JobState
from ..arguments import Moment, moment
from ..filters import add_places, filter_from
from ..many import ManyJobsCommand

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from ...models import Job

_ENDED = tuple(state for state in JobState if state in TERMINAL)


class Command(ManyJobsCommand):
    """Prune jobs with all that belongs to them: arguments, ledger rows, attempts."""

    help = (
        "Delete ended jobs whose retention is over, as schedulers do each minute, in batches; or with --older-than "
        "those of that age, whatever their retention. Never one that has not ended, that a job waits for, or whose "
        "workflow is not finished. Exit code: 0 if it is done, 130 if a signal stopped it between two batches."
    )
    verb = "prune for good"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the options."""
        parser.add_argument(
            "--older-than", type=moment, metavar="WHEN",
            help="That ended before then, whatever their retention: 30d, or 2026-11-30. It asks first.",
        )  # fmt: skip
        add_places(parser, _ENDED, default="all of them")
        self.add_database(parser, "Only jobs of this database")
        self.add_pace(parser)

    def handle(self, *, older_than: Moment | None, database: str | None, as_json: bool, **options: Any) -> None:
        """Prune what matches."""
        settings = conveyor_settings()
        aliases = self.databases(database, settings)
        chosen = filter_from(options, default=_ENDED, until=older_than)
        retention = settings if older_than is None else None
        self.run_on(
            {alias: prunable(chosen.jobs(alias), retention) for alias in aliases}, dry_run=options["dry_run"],
            # What the retention lets go, any scheduler would have pruned unasked.
            asks=options["interactive"] and older_than is not None, per_second=options["rate"], as_json=as_json,
        )  # fmt: skip

    def batches(self, jobs: QuerySet[Job], size: int) -> Iterator[Mapping[str, int]]:
        """Prune, a transaction for each batch."""
        for count in prune_matching(jobs, batch=size):
            yield {"pruned": count}
