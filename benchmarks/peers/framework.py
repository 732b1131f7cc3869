"""What the queues of Django have in common, on the project in `benchmarks/project`."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any, ClassVar

from . import base


class FrameworkPeer(base.Peer):
    """A backend of Django's task framework, by its name in the project's settings."""

    backend: ClassVar[str]

    def __init__(self, options: Mapping[str, Any], *, is_background: bool = False) -> None:
        super().__init__(options, is_background=is_background)
        os.environ["BENCHMARK_DJANGO"] = self.backend
        os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.project.settings"
        import django

        django.setup()

    def setup(self) -> None:
        """Migrate."""
        self.manage("migrate", verbosity=0)

    def task(self, kind: str) -> Any:
        """Return the task of that kind, with the priority where it is not the usual one."""
        from benchmarks.project import framework

        task = getattr(framework, kind)
        return task.using(priority=self.priority) if self.is_background else task

    def enqueue_singly(self, numbers: range) -> float:
        """By enqueue, in autocommit."""
        task = self.task("noop")
        self.connect()
        begin = time.perf_counter()
        for n in numbers:
            task.enqueue(n, 0.0, self.pad)
        return time.perf_counter() - begin

    def enqueue_paced(self, numbers: range, rate: float) -> None:
        """By enqueue, in autocommit."""
        task = self.task("noop")
        base.pace(numbers, rate, lambda n, now: task.enqueue(n, now, self.pad))

    def connect(self) -> None:
        """Open Django's connection, so that its opening is not measured."""
        from django.db import connection

        connection.ensure_connection()

    def manage(self, command: str, **options: Any) -> None:
        """Run a management command in this process."""
        from django.core.management import call_command

        call_command(command, **options)
