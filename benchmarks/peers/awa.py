"""awa: a core in Rust with async handlers in Python, COPY for the bulk enqueue."""

from __future__ import annotations

import asyncio
import signal
import time
from dataclasses import dataclass
from typing import Any, Final

import awa

from . import base, effects


@dataclass
class Noop:
    """The arguments of a job that does nothing."""

    sequence: int
    enqueued: float
    pad: str


@dataclass
class Effect:
    """The arguments of a job that writes one row."""

    sequence: int
    enqueued: float
    pad: str


KINDS: Final[dict[str, Any]] = {"noop": Noop, "effect": Effect}
# What becomes a queue at the first start of a worker gets so long to do so, in seconds.
SETTLES: Final = 1.0


class Awa(base.Peer):
    """`pool` connections, a poll each `poll_ms` milliseconds."""

    defaults = {"pool": 10, "poll_ms": 200}
    # From 1, the most urgent, to 4.
    usual = 2
    background = 4

    def setup(self) -> None:
        """Migrate; its storage is made by the first worker, so one is started and stopped."""
        asyncio.run(self._setup())

    def enqueue_bulk(self, kind: str, numbers: range) -> float:
        """By enqueue_many_copy."""
        return asyncio.run(self._bulk(kind, numbers))

    def enqueue_singly(self, numbers: range) -> float:
        """By its synchronous client."""
        client = awa.Client(base.database())
        begin = time.perf_counter()
        for n in numbers:
            client.insert(Noop(n, 0.0, self.pad), queue="default")
        return time.perf_counter() - begin

    def enqueue_paced(self, numbers: range, rate: float) -> None:
        """By its synchronous client."""
        client = awa.Client(base.database())
        base.pace(numbers, rate, lambda n, now: client.insert(Noop(n, now, self.pad), queue="default"))

    def work(self, concurrency: int) -> None:
        """Run its worker."""
        asyncio.run(self._work(concurrency))

    async def _setup(self) -> None:
        client = self._client()
        await client.migrate()
        await self._start(client, 1)
        await asyncio.sleep(SETTLES)
        await client.shutdown()

    async def _bulk(self, kind: str, numbers: range) -> float:
        client = self._client()
        await client.queue_stats()
        begin = time.perf_counter()
        for chunk in self.chunks(numbers):
            jobs = [KINDS[kind](n, time.time(), self.pad) for n in chunk]
            await client.enqueue_many_copy(jobs, queue="default", priority=self.priority)
        return time.perf_counter() - begin

    async def _work(self, concurrency: int) -> None:
        client = self._client()
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await self._start(client, concurrency)
        await stop.wait()
        await client.shutdown()

    async def _start(self, client: Any, concurrency: int) -> None:
        queue = awa.PartitionedQueue("default", 1)
        configs = queue.queue_configs(concurrency, claim_batch_size=None, claimers=None)
        await client.start(configs, poll_interval_ms=self.options["poll_ms"])

    def _client(self) -> Any:
        client = awa.AsyncClient(base.database(), max_connections=self.options["pool"])

        @client.task(Noop, queue="default")
        async def noop(job: Any) -> None:
            base.note(job.args.sequence, job.args.enqueued)

        @client.task(Effect, queue="default")
        async def effect(job: Any) -> None:
            await effects.write_async(job.args.sequence)
            base.note(job.args.sequence, job.args.enqueued)

        return client


if __name__ == "__main__":
    base.run(Awa)
