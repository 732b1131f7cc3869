"""`manage.py conveyor_drain`: ask workers to claim nothing more and to end, from afar."""

from __future__ import annotations

import time
import uuid
from argparse import ArgumentParser, ArgumentTypeError
from typing import TYPE_CHECKING, Any, Final

from django.core.management.base import CommandError

from ...conf import conveyor_settings
from ...models import Job
from ...operate.draining import ask_to_drain, workers_at
from ..arguments import seconds
from ..base import OperatingCommand, counted

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from ...models import Worker

# Between two looks at whether they are gone.
LOOK_SECONDS: Final = 0.2


class Command(OperatingCommand):
    """Do from afar what SIGTERM does on the spot."""

    help = (
        "Ask the workers of a host to claim nothing more and to end when their runs are done, as SIGTERM does: what "
        "outlives their grace is given back. Each hears it within a third of its lease. Exit code: 0 if they are "
        "asked, or with --wait gone; 1 if there are none, or some are left."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the options."""
        parser.add_argument("host", metavar="HOST", help="The host's name, as conveyor_status shows it.")
        one = parser.add_mutually_exclusive_group()
        one.add_argument("--pid", type=int, help="Only the conveyor_worker of this pid, or with a process of it.")
        one.add_argument("--owner", type=_uuid, metavar="UUID", help="Only the conveyor_worker with this process.")
        parser.add_argument("--wait", type=seconds, metavar="SECONDS", help="Wait so long until they are gone.")
        self.add_database(parser, "Only workers of this database")
        self.add_json(parser)

    def handle(
        self, *, host: str, pid: int | None, owner: uuid.UUID | None, wait: float | None, database: str | None,
        as_json: bool, **_options: Any,
    ) -> None:  # fmt: skip
        """Ask, and wait where told to."""
        aliases = self.databases(database, conveyor_settings())
        chosen = {alias: workers_at(host, alias, pid=pid, owner=owner) for alias in aliases}
        asked = {alias: ask_to_drain(workers) for alias, workers in chosen.items()}
        if not any(asked.values()):
            which = f" with {f'pid {pid}' if owner is None else owner}" if pid is not None or owner else ""
            raise CommandError(
                f"No worker on {', '.join(aliases)} is of host {host!r}{which}. conveyor_status lists those "
                f"that there are."
            )
        if not as_json:
            for alias, workers in asked.items():
                for worker in workers:
                    self.stdout.write(f"{alias}: {_shown(worker, alias)} is asked to drain.")
        left = self._wait(chosen, wait) if wait is not None else []
        if as_json:
            asked_json = [
                {"database": alias, "worker": str(worker.pk), "host": worker.host, "pid": worker.pid}
                for alias, workers in asked.items()
                for worker in workers
            ]
            self.print_json({"asked": asked_json, "left": None if wait is None else [str(w.pk) for _, w in left]})
        if left:
            raise CommandError(
                f"Still there after {wait:g} s: {'; '.join(_shown(worker, alias) for alias, worker in left)}. They "
                f"have been asked, and end when they are done; look again with the same command."
            )
        if wait is not None and not as_json:
            self.stdout.write("All of them are gone.")

    def _wait(self, chosen: dict[str, QuerySet[Worker]], patience: float) -> list[tuple[str, Worker]]:
        """Wait until no such worker is left; return those that are.

        Each is asked again: a process may have been replaced before it heard, as when it has crashed.
        """
        until = time.monotonic() + patience
        while left := [(alias, worker) for alias, workers in chosen.items() for worker in ask_to_drain(workers.all())]:
            if (pause := min(LOOK_SECONDS, until - time.monotonic())) <= 0:
                break
            time.sleep(pause)
        return left


def _shown(worker: Worker, alias: str) -> str:
    held = Job.objects.db_manager(alias).count_held(owner=worker.pk)
    return f"worker {worker.pk} (pid {worker.pid} of supervisor {worker.supervisor_pid}, {counted(held)} running)"


def _uuid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise ArgumentTypeError(f"must be a worker's uuid, as conveyor_status shows it, not {text!r}") from None
