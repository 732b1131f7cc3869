"""django-tasks-db: a worker is one thread with one job at a time, so it scales by processes.

It has no bulk API: jobs are enqueued in a loop inside of one transaction.
"""

from __future__ import annotations

import os
import time

from . import base
from .framework import FrameworkPeer


class DjangoTasksDb(FrameworkPeer):
    """The worker looks each `interval` seconds when idle."""

    backend = "django-tasks-db"
    defaults = {"interval": 1.0}

    def enqueue_bulk(self, kind: str, numbers: range) -> float:
        """In one transaction."""
        from django.db import transaction

        task = self.task(kind)
        self.connect()
        begin = time.perf_counter()
        with transaction.atomic():
            for n in numbers:
                task.enqueue(n, time.time(), self.pad)
        return time.perf_counter() - begin

    def work(self, concurrency: int) -> None:
        """Run its command; `concurrency` it has none."""
        self.manage(
            "db_worker", interval=self.options["interval"], startup_delay=False, reload=False, verbosity=0,
            worker_id=f"w{os.getpid()}",
        )  # fmt: skip


if __name__ == "__main__":
    base.run(DjangoTasksDb)
