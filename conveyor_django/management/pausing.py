"""What the commands that pause and resume have in common."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.core.management.base import CommandError

from ..conf import conveyor_settings
from .base import OperatingCommand


class PausingCommand(OperatingCommand):
    """Do something to queues and to tasks; all of them are tried, and those that were refused are said."""

    said: ClassVar[str]

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the options."""
        parser.add_argument("queues", nargs="*", metavar="QUEUE", help="A queue, in the database where it lives.")
        parser.add_argument(
            "--task", action="append", default=[], dest="tasks", metavar="PATH",
            help="A task, in whatever queue and database; repeatable.",
        )  # fmt: skip
        self.add_json(parser)

    # What it does to a queue and to a task; both raise ValueError for what is none.
    acts: ClassVar[Mapping[str, Callable[[str], None]]]

    def handle(self, *, queues: list[str], tasks: list[str], as_json: bool, **_options: Any) -> None:
        """Do it to each that is named."""
        if not queues and not tasks:
            raise CommandError("Name a queue, or a task by --task.")
        self.databases(None, conveyor_settings())
        done: dict[str, list[str]] = {"queue": [], "task": []}
        refused: list[str] = []
        for kind, names in (("queue", queues), ("task", tasks)):
            for name in dict.fromkeys(names):
                try:
                    self.acts[kind](name)
                except ValueError as error:
                    refused.append(str(error))
                    continue
                done[kind].append(name)
                if not as_json:
                    self.stdout.write(f"{kind} {name}: {self.said}")
        if as_json:
            self.print_json({"queues": done["queue"], "tasks": done["task"]})
        if refused:
            raise CommandError(" ".join(refused))
