"""Oban for Python: its psycopg pool with uvloop, one queue with a local limit."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import Any, Final

import psycopg
import uvloop
from oban import Oban, worker
from oban.schema import install_sql

from . import base, effects


@worker(queue="default")
class Noop:
    """Does nothing."""

    async def process(self, job: Any) -> None:
        """Run the job."""
        base.note(job.args["sequence"], job.args["enqueued"])


@worker(queue="default")
class Effect:
    """Writes one row."""

    async def process(self, job: Any) -> None:
        """Run the job."""
        await effects.write_async(job.args["sequence"])
        base.note(job.args["sequence"], job.args["enqueued"])


WORKERS: Final[dict[str, Any]] = {"noop": Noop, "effect": Effect}


class ObanPeer(base.Peer):
    """`pool` is the most connections of its pool."""

    defaults = {"pool": 10}
    chunk = 1000
    # From 0, the most urgent and the default, to 9.
    background = 9

    def setup(self) -> None:
        """Install its schema."""
        with psycopg.connect(base.database(), autocommit=True) as connection:
            connection.execute(install_sql())

    def enqueue_bulk(self, kind: str, numbers: range) -> float:
        """By enqueue_many."""
        return float(uvloop.run(self._bulk(kind, numbers)))

    def enqueue_singly(self, numbers: range) -> float:
        """By enqueue."""
        return float(uvloop.run(self._singly(numbers)))

    def enqueue_paced(self, numbers: range, rate: float) -> None:
        """By enqueue."""
        uvloop.run(self._paced(numbers, rate))

    def work(self, concurrency: int) -> None:
        """Run one node of it."""
        uvloop.run(self._work(concurrency))

    def _job(self, kind: str, sequence: int, enqueued: float) -> Any:
        arguments = {"sequence": sequence, "enqueued": enqueued, "pad": self.pad}
        return WORKERS[kind].new(arguments, priority=self.priority)

    async def _bulk(self, kind: str, numbers: range) -> float:
        pool = await Oban.create_pool(base.database(), max_size=self.options["pool"])
        async with Oban(pool=pool) as client:
            begin = time.perf_counter()
            for chunk in self.chunks(numbers):
                await client.enqueue_many([self._job(kind, n, time.time()) for n in chunk])
            seconds = time.perf_counter() - begin
        await pool.close()
        return seconds

    async def _singly(self, numbers: range) -> float:
        pool = await Oban.create_pool(base.database(), max_size=self.options["pool"])
        async with Oban(pool=pool) as client:
            begin = time.perf_counter()
            for n in numbers:
                await client.enqueue(self._job("noop", n, 0.0))
            seconds = time.perf_counter() - begin
        await pool.close()
        return seconds

    async def _paced(self, numbers: range, rate: float) -> None:
        pool = await Oban.create_pool(base.database(), max_size=self.options["pool"])
        async with Oban(pool=pool) as client:
            await base.pace_async(numbers, rate, lambda n, now: client.enqueue(self._job("noop", n, now)))
        await pool.close()

    async def _work(self, concurrency: int) -> None:
        pool = await Oban.create_pool(base.database(), min_size=4, max_size=self.options["pool"])
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        async with Oban(pool=pool, queues={"default": concurrency}, shutdown_grace_period=2.0):
            await stop.wait()
        await pool.close()


if __name__ == "__main__":
    base.run(ObanPeer)
