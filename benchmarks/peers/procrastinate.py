"""procrastinate: async tasks on its psycopg pool, woken by notifications."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

import procrastinate
from procrastinate import PsycopgConnector, SyncPsycopgConnector

from . import base, effects

app = procrastinate.App(connector=PsycopgConnector(conninfo=base.database(), min_size=4, max_size=20))


@app.task(name="noop")
async def noop(sequence: int, enqueued: float, pad: str) -> None:
    """Do nothing."""
    base.note(sequence, enqueued)


@app.task(name="effect")
async def effect(sequence: int, enqueued: float, pad: str) -> None:
    """Write one row."""
    await effects.write_async(sequence)
    base.note(sequence, enqueued)


class Procrastinate(base.Peer):
    """The worker polls every `poll` seconds besides."""

    defaults = {"poll": 5.0}
    chunk = 1000

    def setup(self) -> None:
        """Apply its schema."""
        with _sync_app() as client:
            client.schema_manager.apply_schema()

    def enqueue_bulk(self, kind: str, numbers: range) -> float:
        """By batch_defer."""
        with _sync_app() as client:
            task = client.configure_task(kind, priority=self.priority)
            begin = time.perf_counter()
            for chunk in self.chunks(numbers):
                task.batch_defer(*[{"sequence": n, "enqueued": time.time(), "pad": self.pad} for n in chunk])
            return time.perf_counter() - begin

    def enqueue_singly(self, numbers: range) -> float:
        """By defer."""
        with _sync_app() as client:
            task = client.configure_task("noop")
            begin = time.perf_counter()
            for n in numbers:
                task.defer(sequence=n, enqueued=0.0, pad=self.pad)
            return time.perf_counter() - begin

    def enqueue_paced(self, numbers: range, rate: float) -> None:
        """By defer."""
        with _sync_app() as client:
            task = client.configure_task("noop")
            base.pace(numbers, rate, lambda n, now: task.defer(sequence=n, enqueued=now, pad=self.pad))

    def work(self, concurrency: int) -> None:
        """Run its worker."""
        asyncio.run(self._work(concurrency))

    async def _work(self, concurrency: int) -> None:
        async with app.open_async():
            await app.run_worker_async(
                concurrency=concurrency, fetch_job_polling_interval=self.options["poll"], listen_notify=True
            )


@contextmanager
def _sync_app() -> Iterator[procrastinate.App]:
    connector = SyncPsycopgConnector(conninfo=base.database())
    with app.replace_connector(connector) as client, client.open():
        yield client


if __name__ == "__main__":
    base.run(Procrastinate)
