"""django-ox: a worker with a pool of threads, persistent connections, enqueue_many in bulk."""

from __future__ import annotations

import time

from . import base
from .framework import FrameworkPeer


class DjangoOx(FrameworkPeer):
    """The worker looks each `interval` seconds when idle."""

    backend = "django-ox"
    defaults = {"interval": 1.0}

    def enqueue_bulk(self, kind: str, numbers: range) -> float:
        """By enqueue_many."""
        from django_ox.bulk import enqueue_many

        task = self.task(kind)
        self.connect()
        begin = time.perf_counter()
        for chunk in self.chunks(numbers):
            enqueue_many(task, [((n, time.time(), self.pad), {}) for n in chunk])
        return time.perf_counter() - begin

    def work(self, concurrency: int) -> None:
        """Run its command."""
        self.manage("ox_worker", concurrency=concurrency, interval=self.options["interval"], verbosity=0)


if __name__ == "__main__":
    base.run(DjangoOx)
