"""An executor whose atomic jobs run in groups: claims for real, runs in real threads, writes the outcomes."""

from __future__ import annotations

import json
import queue
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from django.db import transaction

from conveyor_django import task
from conveyor_django.db import Connection
from conveyor_django.models import Job, Ledger
from conveyor_django.outcomes import Answer
from conveyor_django.worker.board import Board
from conveyor_django.worker.deadlines import Deadlines
from conveyor_django.worker.executor import Executor
from conveyor_django.worker.handler import Handlers
from conveyor_django.worker.inflight import Held, InFlight
from conveyor_django.worker.paces import Paces
from conveyor_django.worker.runs import Finished

from .bench import LEASE, A, Bench
from .jobs import insert_effect
from .waits import PATIENCE, wait_until

# What the member of each name does after its write; and how often each was called, and whose hooks ran, in order.
scripts: dict[str, Callable[[], object]] = {}
calls: Counter[str] = Counter()
hooks: list[str] = []


@task(atomic=True, backoff=0, max_attempts=3)
def member(name: str) -> object:
    """Write a row, ask for a hook, and do what the test says."""
    calls[name] += 1
    insert_effect(name)
    transaction.on_commit(partial(hooks.append, name))
    return scripts[name]() if name in scripts else name


class Unhurried(Paces):
    """Knows every task to be quick, however busy the machine, unless it has to be alone."""

    def note(self, task: str, seconds: float, now: float) -> None:
        super().note(task, 0.0, now)

    @property
    def group_seconds(self) -> float:
        return self.seconds

    seconds = PATIENCE


class Crew:
    """Threads that take groups, and the ends of their runs; whoever makes one closes it."""

    def __init__(self, connection: Connection, *, threads: int = 1, group_size: int = 16) -> None:
        for memory in (scripts, calls, hooks):
            memory.clear()
        self.bench = Bench(connection)
        self.inflight = InFlight()
        self.board, self._file = Board.create(32)
        self.deadlines = Deadlines(inflight=self.inflight, board=self.board, grace=0.0)
        self.ends: queue.SimpleQueue[Finished] = queue.SimpleQueue()
        self.errors: list[BaseException] = []
        self.executor = Executor(
            threads=threads, handlers=Handlers(owner=A, alias="default", settings=self.bench.settings),
            board=self.board, done=self.ends.put, on_error=self.errors.append, group_size=group_size,
        )  # fmt: skip
        self.paces = self.executor._grouping.paces = Unhurried()
        self.executor.start()
        # A worker groups the tasks that it has seen.
        self.run_all("first")
        hooks.clear()
        calls.clear()

    def claim(self, *names: str) -> list[Held]:
        """Enqueue members and claim them."""
        member.enqueue_many([(name,) for name in names])
        sent_at = time.monotonic()
        queues = {"default": LEASE}
        claimed = Job.objects.claim_jobs(owner=A, queues=queues, limit=99, on=self.bench.connection)
        return self.inflight.add(claimed, sent_at)

    def run(self, *names: str) -> dict[str, Held]:
        """Let them run, as many together as one claim gives; return them by name."""
        held = self.claim(*names)
        self.executor.submit(*held)
        return {json.loads(one.claimed.args)[0]: one for one in held}

    def run_all(self, *names: str) -> dict[str, Finished]:
        """Let them run, and write all of their outcomes; return the ends by name."""
        held = self.run(*names)
        return self.finish(held)

    def finish(self, held: dict[str, Held]) -> dict[str, Finished]:
        """Wait for their ends, and write the outcomes."""
        ends = {end.held.token: end for end in [self.ends.get(timeout=PATIENCE) for _ in held]}
        for end in ends.values():
            # Busy, while the thread still has what a handler left open.
            wait_until(partial(self._is_answered, end), "its outcome is answered for")
            self.inflight.drop(end.held.token)
            assert end.held.place is not None
            self.board.clear(end.held.place)
        return {name: ends[one.token] for name, one in held.items()}

    def _is_answered(self, end: Finished) -> bool:
        return self.bench.finish(end) in {Answer.WON, Answer.LOST}

    def close(self) -> None:
        """End the threads, and fail if one had ended by itself, or an end came twice."""
        self.executor.stop()
        for thread in self.executor._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        self._file.close()
        assert self.errors == []
        assert self.ends.empty()
        assert self.board.started() == []


@contextmanager
def crew(connection: Connection, *, threads: int = 1, group_size: int = 16) -> Iterator[Crew]:
    """Have a crew for the length of a block."""
    made = Crew(connection, threads=threads, group_size=group_size)
    try:
        yield made
    finally:
        made.close()


def commits() -> list[set[str]]:
    """Return the names of the members that succeeded by one commit, commit by commit in their order."""
    by_commit: dict[str, set[str]] = {}
    # The ledger's rows of a group are written by one statement.
    rows = Ledger.objects.extra(select={"commit": "conveyor_ledger.xmin::text"}).order_by("job_id")
    names = {job.pk: job.payload.args[0] for job in Job.objects.select_related("payload")}
    for row in rows:
        by_commit.setdefault(row.commit, set()).add(names[row.job_id])
    return list(by_commit.values())


def states() -> dict[str, str]:
    """Return the state of each member's job, by name."""
    return {job.payload.args[0]: job.state for job in Job.objects.select_related("payload")}
