"""What a job queue has to be able to do here, and the command line that asks it to.

    python -m benchmarks.peers.NAME bulk --options '{"batch": 100}' --count 20000

Runs in the queue's own environment: of others than the standard library only what every environment has, psycopg.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from .. import recorder
from ..recorder import note

URL_VARIABLE: Final = "BENCHMARK_URL"
PAD_VARIABLE: Final = "BENCHMARK_PAD"
KEYS_VARIABLE: Final = "BENCHMARK_KEYS"
# How many jobs are enqueued at once to keep some waiting, and how often it is looked whether it is time, in seconds.
FEED: Final = 1_000
FEED_SECONDS: Final = 0.01

__all__ = ["Peer", "database", "note", "pace", "pace_async", "run"]


def database() -> str:
    """Return the URL of the run's database."""
    return os.environ[URL_VARIABLE]


def database_parts() -> dict[str, Any]:
    """Return host, port, user and name of the run's database."""
    parts = urlsplit(database())
    return {"host": parts.hostname, "port": parts.port, "user": parts.username, "name": parts.path.lstrip("/")}


class Peer(ABC):
    """A job queue under its `options`; a job is (number, time of its enqueue, padding) and of a kind: noop, effect."""

    # What is taken where an option is not given.
    defaults: ClassVar[Mapping[str, Any]] = {}
    # How many jobs one call of the bulk API gets.
    chunk: ClassVar[int] = 5000
    # The priority of what is enqueued, and of a burst that others are to overtake; where both are one, the queue has
    # no priorities.
    usual: ClassVar[int] = 0
    background: ClassVar[int] = -10

    def __init__(self, options: Mapping[str, Any], *, is_background: bool = False) -> None:
        self.options = {**self.defaults, **options}
        self.is_background = is_background
        self.priority = self.background if is_background else self.usual
        self.pad = "x" * int(os.environ.get(PAD_VARIABLE, "0"))

    @abstractmethod
    def setup(self) -> None:
        """Make the queue's schema in an empty database."""

    @abstractmethod
    def enqueue_bulk(self, kind: str, numbers: range) -> float:
        """Enqueue these jobs through the best bulk API that there is; return the seconds, without connecting."""

    @abstractmethod
    def enqueue_singly(self, numbers: range) -> float:
        """Enqueue no-op jobs one after the other, a commit each; return the seconds, without connecting."""

    @abstractmethod
    def enqueue_paced(self, numbers: range, rate: float) -> None:
        """Enqueue no-op jobs one by one, `rate` in a second."""

    @abstractmethod
    def work(self, concurrency: int) -> None:
        """Run a worker with so many jobs in flight until SIGTERM."""

    def feed(self, kind: str, ahead: int) -> None:
        """Keep about `ahead` jobs waiting, by what the handlers have recorded, until SIGTERM."""
        folder, first = Path(os.environ[recorder.FOLDER_VARIABLE]), 0
        while True:
            while first - recorder.count(folder) < ahead:
                self.enqueue_bulk(kind, range(first, first + FEED))
                first += FEED
            time.sleep(FEED_SECONDS)

    def chunks(self, numbers: range) -> list[range]:
        """Return the numbers in parts of a bulk call's size."""
        return [numbers[start : start + self.chunk] for start in range(0, len(numbers), self.chunk)]


def pace(numbers: range, rate: float, one: Callable[[int, float], object]) -> None:
    """Call `one(number, now)` for each number, `rate` times in a second; what is late is made up for."""
    begin = time.perf_counter()
    for place, number in enumerate(numbers):
        if (ahead := begin + place / rate - time.perf_counter()) > 0:
            time.sleep(ahead)
        one(number, time.time())


async def pace_async(numbers: range, rate: float, one: Callable[[int, float], Awaitable[object]]) -> None:
    """As `pace`, for a coroutine function."""
    begin = time.perf_counter()
    for place, number in enumerate(numbers):
        if (ahead := begin + place / rate - time.perf_counter()) > 0:
            await asyncio.sleep(ahead)
        await one(number, time.time())


def run(peer: type[Peer]) -> None:
    """Do what the command line says; what took time is printed as JSON."""
    given = _arguments()
    queue = peer(json.loads(given.options), is_background=bool(given.background))
    numbers = range(given.first, given.first + given.count)
    seconds: float | None = None
    match given.command:
        case "setup":
            queue.setup()
        case "bulk":
            seconds = queue.enqueue_bulk(given.kind, numbers)
        case "single":
            seconds = queue.enqueue_singly(numbers)
        case "paced":
            queue.enqueue_paced(numbers, given.rate)
        case "feed":
            queue.feed(given.kind, given.ahead)
        case "work":
            queue.work(given.concurrency)
        case extra:
            print(json.dumps(getattr(queue, extra)(given)))
    if seconds is not None:
        print(json.dumps({"seconds": seconds}))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", help="setup, bulk, single, paced, feed, work; Conveyor has some of its own")
    parser.add_argument("--options", default="{}")
    parser.add_argument("--kind", default="noop")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--rate", type=float, default=100.0)
    parser.add_argument("--ahead", type=int, default=10_000)
    parser.add_argument("--background", type=int, default=0)
    parser.add_argument("--concurrency", type=int, default=16)
    return parser.parse_args()
