"""`manage.py conveyor_rescue`: give back what a dead worker holds, without waiting for its lease."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from ...conf import ConveyorSettings, conveyor_settings
from ...operate.rescue import Owner, Rescue, owners_named, rescue, seems_alive
from ..base import OperatingCommand, counted


class Command(OperatingCommand):
    """Take over from workers that somebody knows to be dead, as schedulers do from those that they find dead."""

    help = (
        "Give back at once what a dead worker holds: end its database sessions, make its jobs ready (each run counts "
        "as lost), forget it. Refuses a worker that is seen alive. Exit code: 0 if nothing of it is left, else 1."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the options."""
        parser.add_argument(
            "owner", metavar="OWNER",
            help="A worker process: its uuid, or host:pid; a supervisor's pid means all processes of it.",
        )  # fmt: skip
        parser.add_argument(
            "--force", action="store_true",
            help="Also one that is seen alive: its runs cannot commit any more, and it stops at its next beat.",
        )  # fmt: skip
        self.add_database(parser, "Only what it holds on this database")
        self.add_json(parser)

    def handle(self, *, owner: str, force: bool, database: str | None, as_json: bool, **_options: Any) -> None:
        """Find whom the name means, and rescue what each of them holds."""
        settings = conveyor_settings()
        aliases = self.databases(database, settings)
        owners = [found for alias in aliases for found in owners_named(owner, alias)]
        if not owners:
            raise CommandError(
                f"No worker on {', '.join(aliases)} is {owner!r}, and none of that uuid holds a job. Name one by its "
                f"uuid or as host:pid; conveyor_status lists them. Lapsed leases are any scheduler's to rescue."
            )
        if not force:
            self._refuse_living(owners, settings)
        reports = [rescue(found, settings, forced=force) for found in owners]
        if as_json:
            self.print_json({"workers": [_as_json(report) for report in reports]})
        else:
            for report in reports:
                self.stdout.write(f"{report.owner}: {_said(report)}.")
        if unfinished := [str(report.owner) for report in reports if not report.done]:
            raise CommandError(
                f"Not done with {'; '.join(unfinished)}: its sessions come back, so it lives, or somebody has its "
                f"jobs' rows locked. End its process (conveyor_drain, or kill), and run this again."
            )

    def _refuse_living(self, owners: list[Owner], settings: ConveyorSettings) -> None:
        """Raise CommandError if one of them is seen alive, before anything is done to any."""
        if living := [found for found in owners if seems_alive(found, settings)]:
            seen = "; ".join(f"{found}{_last_seen(found)}" for found in living)
            raise CommandError(
                f"Seen alive: {seen}. To end it in order: conveyor_drain. If you know that it is dead or frozen, and "
                f"do not want to wait for its lease: --force."
            )


def _last_seen(owner: Owner) -> str:
    """Return when its last beat was, and for how long after it silence says nothing."""
    if owner.worker is None:
        return ""
    seen = owner.worker.last_seen
    local = timezone.localtime(seen) if timezone.is_aware(seen) else seen
    return f", last seen at {local:%H:%M:%S}, with a lease of {owner.worker.lease_seconds:g} s"


def _said(report: Rescue) -> str:
    jobs = report.jobs.total()
    became = ", ".join(f"{number:,} {state}" for state, number in sorted(report.jobs.items()))
    held = f"; it still holds {counted(report.held)}" if report.held else ""
    return (
        f"ended {counted(report.sessions, 'session')}, took back {counted(jobs)}{f' ({became})' if jobs else ''}{held}"
    )


def _as_json(report: Rescue) -> dict[str, Any]:
    owner = report.owner
    return {
        "database": owner.alias, "worker": str(owner.incarnation), "sessions": report.sessions, "jobs": report.jobs,
        "held": report.held, "done": report.done,
    }  # fmt: skip
