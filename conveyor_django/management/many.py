"""What commands on many jobs have in common: count, ask, and work in batches that a signal stops between two."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from django.core.management.base import CommandError

from ..operate.filtering import MOST_COUNTED, count_up_to
from ..operate.matches import first_matches
from ..operate.selection import BATCH
from ..operate.wording import printable
from .arguments import rate
from .base import INTERRUPTED, OperatingCommand, counted
from .stopping import Pace, Stop

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from ..models import Job
    from ..operate.matches import Match


@dataclass(slots=True)
class Tally:
    """What came of the jobs that matched: how many were found, and how many are what now."""

    matched: int = 0
    became: Counter[str] = field(default_factory=Counter)
    interrupted: bool = False


class ManyJobsCommand(OperatingCommand):
    """A command on the jobs that a filter finds: `batches` does it, and `verb` says it in the question."""

    verb: ClassVar[str]
    # What is said of jobs that are now what `batches` calls them; a word that is not here stands for itself.
    words: ClassVar[Mapping[str, str]] = {}

    def add_pace(self, parser: ArgumentParser) -> None:
        """Define ``--rate``, ``--dry-run``, ``--no-input`` and ``--json``."""
        parser.add_argument("--rate", type=rate, metavar="N", help="At most so many in a second (default: no limit).")
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="List the first jobs that match, say how many there are, and change nothing.",
        )
        self.add_question(parser)
        self.add_json(parser)

    def batches(self, jobs: QuerySet[Job], size: int) -> Iterator[Mapping[str, int]]:  # noqa: ARG002 - see its commands
        """Do it to the jobs that a query finds, so many at a time; yield of each batch how many are what now."""
        raise TypeError(f"{type(self).__name__} must define batches()")

    def run_on(
        self, found: dict[str, QuerySet[Job]], *, dry_run: bool, asks: bool, per_second: float | None, as_json: bool
    ) -> None:
        """Count the jobs of each database, ask where told to, and do it. Raises CommandError where it was stopped."""
        counts = {alias: count_up_to(jobs) for alias, jobs in found.items()}
        tally = Tally(matched=sum(counts.values()))
        first = first_matches(found.values()) if dry_run else []
        if not dry_run and tally.matched:
            if asks:
                self.ask(f"{self.verb.capitalize()} {_listed(counts)}?")
            self._work(found, tally, per_second)
        if as_json:
            self.print_json(
                {
                    "matched": min(tally.matched, MOST_COUNTED), "matched_more": tally.matched > MOST_COUNTED,
                    "dry_run": dry_run, "interrupted": tally.interrupted, "became": tally.became,
                } | ({"jobs": [match.as_json() for match in first]} if dry_run else {})
            )  # fmt: skip
        else:
            self._list(first, tally.matched)
            self._say(counts, tally, dry_run=dry_run)
        if tally.interrupted:
            raise CommandError(
                "Stopped by a signal between two batches; what is said above is done. Run this again for the rest.",
                returncode=INTERRUPTED,
            )

    def _work(self, found: dict[str, QuerySet[Job]], tally: Tally, per_second: float | None) -> None:
        pace = Pace(per_second)
        with Stop().on_signals() as stop:
            for jobs in found.values():
                for became in self.batches(jobs, pace.batch(BATCH)):
                    tally.became.update(became)
                    if stop.wait(pace.wait_after(tally.became.total())):
                        tally.interrupted = True
                        return

    def _list(self, first: list[Match], matched: int) -> None:
        for match in first:
            error = f"{match.error_class}: {match.message}" if match.error_class else ""
            cells = (match.job, match.queue, match.task, match.state, error)
            self.stdout.write(printable("  ".join(cells).rstrip()))
        if first and matched > len(first):
            bound = "more than " if matched > MOST_COUNTED else ""
            self.stdout.write(f"and {bound}{min(matched, MOST_COUNTED) - len(first):,} more")

    def _say(self, counts: dict[str, int], tally: Tally, *, dry_run: bool) -> None:
        if dry_run or not tally.matched:
            self.stdout.write(f"{_listed(counts)} match{'es' if tally.matched == 1 else ''}. Nothing was changed.")
            return
        became = [f"{counted(number)} {self.words.get(what, what)}" for what, number in tally.became.items()]
        self.stdout.write(f"{'; '.join(became) or 'Nothing was changed'}.")
        left = tally.matched - tally.became.total()
        if left > 0 and not tally.interrupted and tally.matched <= MOST_COUNTED:
            self.stdout.write(
                f"{counted(left)} of those that were counted had changed meanwhile, or somebody had them locked."
            )


def _listed(counts: dict[str, int]) -> str:
    """Return the number of jobs, with those of each database where there are several."""
    whole = counted(sum(counts.values()), bounded_by=MOST_COUNTED)
    parts = ", ".join(f"{alias}: {counted(number, bounded_by=MOST_COUNTED)}" for alias, number in counts.items())
    return f"{whole} ({parts})" if len(counts) > 1 else whole
