"""`python -m testproject prepare`: what `make run` and docker-compose.yml do before anything runs."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from ...visit import login


class Command(BaseCommand):
    """Migrate, and say where the admin is and how to log in."""

    help = "Migrate, make the user admin where DEBUG is on, and say how to log in."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the options."""
        parser.add_argument("--port", default="8000", help="Where the admin will be (default %(default)s).")

    def handle(self, *, port: str, **_options: Any) -> None:
        """Do it; a second time changes nothing."""
        call_command("migrate", verbosity=0, interactive=False)
        self.stdout.write(f"The admin: http://localhost:{port}/admin/ {login()}.")
