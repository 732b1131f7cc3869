"""`python -m testproject demo`, or `make demo`."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from ...demo.flow import Options, run_demo
from ...demo.screen import Screen


class Command(BaseCommand):
    """Settle the shop's orders through killed and frozen workers, and prove that each took effect once."""

    help = "500 orders through a worker whose processes are killed and frozen; ends with the proof."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the options."""
        parser.add_argument("--lease", type=float, default=2.0, help="Seconds of a lease (default %(default)s).")
        parser.add_argument(
            "--seconds", type=float, default=5.0, help="Over which the orders fall due (default %(default)s)."
        )
        parser.add_argument(
            "--logs",
            type=Path,
            default=Path(settings.BASE_DIR) / "build" / "demo",
            help="Folder of the programs' logs (default build/demo).",
        )

    def handle(self, *, lease: float, seconds: float, logs: Path, **_options: Any) -> None:
        """Run it; a demo that did not show what it should is an error."""
        # The screen ends its lines itself: the progress bar has no end of line.
        self.stdout.ending = ""
        run_demo(Screen(self.stdout), Options(lease=lease, seconds=seconds, logs=logs))
