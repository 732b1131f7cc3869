"""The ceiling: Conveyor's own statements in a bare loop, without a worker, threads or handlers.

Each process has `batch` jobs in hand, as a worker process has at the common start of a run. It writes their success
and claims as many in one pipeline, which is one commit and one round trip, until nothing is left. Statements,
parameters, connection and pipeline are those of the worker (worker/finisher.py), so the ceiling moves with them:
psycopg's own cursors would cost more, and make it lower.
"""

from __future__ import annotations

import multiprocessing
import time
import uuid
from collections.abc import Iterator, Sequence
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from typing import Any, Final, NamedTuple

from conveyor_django.db import Connection, connect
from conveyor_django.managers.exchange import claim_params, succeed_params
from conveyor_django.outcomes import Succeed
from conveyor_django.pipeline import Pipeline, Request

LEASE_SECONDS: Final = 30.0
ALIAS: Final = "default"
Token = tuple[int, int]


class Loop:
    """One owner's claims and outcomes on one connection."""

    def __init__(self, connection: Connection, queue: str, batch: int) -> None:
        self._pipeline = Pipeline(connection)
        self._owner = uuid.uuid4()
        params = claim_params(self._owner, {queue: LEASE_SECONDS}, batch)
        # The plain claim moves nothing out of the way.
        del params["park"]
        self._claim: Request = ("claim_plain_jobs", params)

    def claim(self) -> list[Token]:
        """Claim a batch."""
        return _claimed(self._pipeline.run([self._claim])[0])

    def succeed(self, tokens: Sequence[Token]) -> list[Token]:
        """Write the success of these runs; return those whose row was locked for a moment."""
        return _busy(self._pipeline.run([self._outcomes(tokens)])[0])

    def exchange(self, tokens: Sequence[Token]) -> list[Token]:
        """Write the success of these runs and claim the next, in one commit; return what is in hand then."""
        outcome, claim = self._pipeline.run([self._outcomes(tokens), self._claim])
        return _busy(outcome) + _claimed(claim)

    def _outcomes(self, tokens: Sequence[Token]) -> Request:
        outcomes = [Succeed(id=number, version=version) for number, version in tokens]
        return "succeed_jobs", succeed_params(outcomes, self._owner)


def _claimed(rows: Sequence[tuple[Any, ...]]) -> list[Token]:
    return [(row[1], row[2]) for row in rows if row[0] == "claimed"]


def _busy(rows: Sequence[tuple[Any, ...]]) -> list[Token]:
    return [(row[0], row[1]) for row in rows if row[2] == "busy"]


class Span(NamedTuple):
    """When a process began and ended (Unix time), and how many exchanges it made."""

    began: float
    ended: float
    exchanges: int


def work_off(processes: int, batch: int, queue: str = "default") -> dict[str, float]:
    """Work off all jobs of the queue; return the seconds from the first exchange to the last, and the exchanges."""
    context = multiprocessing.get_context("spawn")
    spans: Queue[Span] = context.Queue()
    barrier = context.Barrier(processes)
    workers = [context.Process(target=_work, args=(queue, batch, barrier, spans)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    found = [spans.get() for _ in workers]
    for worker in workers:
        worker.join()
    seconds = max(span.ended for span in found) - min(span.began for span in found)
    return {"seconds": seconds, "exchanges": sum(span.exchanges for span in found)}


def _work(queue: str, batch: int, barrier: Barrier, spans: Queue[Span]) -> None:
    """Run one process: all begin together, each with its first batch in hand, as a run's workers do (gate.py)."""
    import django

    django.setup()
    with connect(ALIAS, "ceiling", lease_seconds=LEASE_SECONDS) as connection:
        loop = Loop(connection, queue, batch)
        tokens = loop.claim()
        barrier.wait()
        began, exchanges = time.time(), 0
        while tokens:
            tokens = loop.exchange(tokens)
            exchanges += 1
        spans.put(Span(began, time.time(), exchanges))


class Exchange(NamedTuple):
    """How long a claim of one batch took, and the success of it, in seconds."""

    claim: float
    success: float


def exchanges(batch: int, times: int, queue: str = "default") -> Iterator[Exchange]:
    """Claim a batch so many times and write its success, in a commit each; yield what it took before the next."""
    with connect(ALIAS, "ceiling", lease_seconds=LEASE_SECONDS) as connection:
        loop = Loop(connection, queue, batch)
        for _ in range(times):
            begin = time.perf_counter()
            tokens = loop.claim()
            claimed = time.perf_counter()
            while tokens:
                tokens = loop.succeed(tokens)
            yield Exchange(claimed - begin, time.perf_counter() - claimed)
