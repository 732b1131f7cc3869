"""Celery on Redis: acknowledged after the run, as at-least-once as the others; no result backend.

It has no bulk API: jobs are sent in a loop over one connection.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Final

from celery import Celery

from . import base, effects

REDIS_VARIABLE: Final = "BENCHMARK_REDIS"
# On Redis a queue with priorities is several lists, and to serve queues in an order made every job start 0.1 to 0.3 s
# later: so the burst has a queue of its own, which takes turns with the usual one.
BACKGROUND: Final = "background"

app = Celery("benchmarks.peers.celery", broker=os.environ.get(REDIS_VARIABLE, "redis://127.0.0.1:6379/0"))
app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    task_send_sent_event=False,
    broker_connection_retry_on_startup=True,
)


@app.task(name="noop")
def noop(sequence: int, enqueued: float, pad: str) -> None:
    """Do nothing."""
    base.note(sequence, enqueued)


@app.task(name="effect")
def effect(sequence: int, enqueued: float, pad: str) -> None:
    """Write one row."""
    effects.write(sequence)
    base.note(sequence, enqueued)


class CeleryPeer(base.Peer):
    """A `pool` of `processes` children that fetch `prefetch` jobs each ahead of their time."""

    defaults = {"pool": "prefork", "processes": 2, "prefetch": 16}
    background = 0

    def setup(self) -> None:
        """Empty the broker."""
        app.connection().default_channel.client.flushdb()

    def enqueue_bulk(self, kind: str, numbers: range) -> float:
        """Send one by one, over one connection."""
        task = {"noop": noop, "effect": effect}[kind]
        queue = BACKGROUND if self.is_background else "celery"
        with app.producer_pool.acquire(block=True) as producer:
            task.apply_async((-1, 0.0, ""), producer=producer, queue="connects-the-producer")
            begin = time.perf_counter()
            for n in numbers:
                task.apply_async((n, time.time(), self.pad), producer=producer, queue=queue)
            return time.perf_counter() - begin

    def enqueue_singly(self, numbers: range) -> float:
        """By delay."""
        begin = time.perf_counter()
        for n in numbers:
            noop.delay(n, 0.0, self.pad)
        return time.perf_counter() - begin

    def enqueue_paced(self, numbers: range, rate: float) -> None:
        """By delay."""
        base.pace(numbers, rate, lambda n, now: noop.delay(n, now, self.pad))

    def work(self, concurrency: int) -> None:
        """Become its worker command; a child of it runs one job at a time, whatever `concurrency` says."""
        command = str(Path(sys.executable).parent / "celery")
        arguments = [
            "-A", "benchmarks.peers.celery", "worker", "--pool", self.options["pool"], "-c",
            str(self.options["processes"]), "--prefetch-multiplier", str(self.options["prefetch"]), "-l", "ERROR",
            "-Q", f"celery,{BACKGROUND}", "--without-gossip", "--without-mingle", "--without-heartbeat",
            "-n", f"w{os.getpid()}@%h",
        ]  # fmt: skip
        os.execv(command, [command, *arguments])


if __name__ == "__main__":
    base.run(CeleryPeer)
