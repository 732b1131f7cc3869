"""pgqueuer: asyncpg with uvloop, jobs taken in batches, a payload of JSON bytes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.queries import Queries

from . import base

# In asyncpg's way of naming a parameter.
INSERT: Final = "INSERT INTO effects (sequence) VALUES ($1)"


class Pgqueuer(base.Peer):
    """`batch` jobs are taken at once; `in_flight` bounds what runs (None: nothing does); `connections` in its pool."""

    defaults = {"batch": 100, "in_flight": None, "connections": 4}

    def setup(self) -> None:
        """Install its schema by its own command."""
        parts = base.database_parts()
        variables = {
            "PGHOST": parts["host"], "PGPORT": str(parts["port"]), "PGUSER": parts["user"], "PGDATABASE": parts["name"],
        }  # fmt: skip
        command = [str(Path(sys.executable).parent / "pgq"), "install"]
        subprocess.run(command, env=os.environ | variables, check=True, stdout=subprocess.DEVNULL)

    def enqueue_bulk(self, kind: str, numbers: range) -> float:
        """By its enqueue with lists."""
        return float(uvloop.run(self._bulk(kind, numbers)))

    def enqueue_singly(self, numbers: range) -> float:
        """By its enqueue."""
        return float(uvloop.run(self._singly(numbers)))

    def enqueue_paced(self, numbers: range, rate: float) -> None:
        """By its enqueue."""
        uvloop.run(self._paced(numbers, rate))

    def work(self, concurrency: int) -> None:
        """Run its worker; what bounds the jobs in flight is the option."""
        uvloop.run(self._work())

    async def _bulk(self, kind: str, numbers: range) -> float:
        queries = await _queries()
        begin = time.perf_counter()
        for chunk in self.chunks(numbers):
            payloads = [self._payload(n, time.time()) for n in chunk]
            await queries.enqueue([kind] * len(chunk), payloads, [self.priority] * len(chunk))
        return time.perf_counter() - begin

    async def _singly(self, numbers: range) -> float:
        queries = await _queries()
        begin = time.perf_counter()
        for n in numbers:
            await queries.enqueue("noop", self._payload(n, 0.0))
        return time.perf_counter() - begin

    async def _paced(self, numbers: range, rate: float) -> None:
        queries = await _queries()
        await base.pace_async(numbers, rate, lambda n, now: queries.enqueue("noop", self._payload(n, now)))

    def _payload(self, sequence: int, enqueued: float) -> bytes:
        return json.dumps([sequence, enqueued, self.pad]).encode()

    async def _work(self) -> None:
        size = self.options["connections"]
        pool = await asyncpg.create_pool(base.database(), min_size=size, max_size=size)
        handlers = await asyncpg.create_pool(base.database(), min_size=2, max_size=16)
        worker = PgQueuer(AsyncpgPoolDriver(pool))

        @worker.entrypoint("noop")
        async def noop(job: Any) -> None:
            base.note(*json.loads(job.payload)[:2])

        @worker.entrypoint("effect")
        async def effect(job: Any) -> None:
            sequence, enqueued, _ = json.loads(job.payload)
            async with handlers.acquire() as connection:
                await connection.execute(INSERT, sequence)
            base.note(sequence, enqueued)

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.shutdown.set)
        await worker.run(
            batch_size=self.options["batch"],
            max_concurrent_tasks=self.options["in_flight"],
            dequeue_timeout=timedelta(seconds=30),
        )


async def _queries() -> Queries:
    return Queries(AsyncpgDriver(await asyncpg.connect(base.database())))


if __name__ == "__main__":
    base.run(Pgqueuer)
