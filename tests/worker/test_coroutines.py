"""Async handlers that are stopped while a thread works for them: what ends, and when it counts as ended."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import SyncToAsync, sync_to_async
from django.contrib.auth.models import Group
from django.db import connections

from conveyor_django import ConveyorContext, task
from conveyor_django.errors import JobCancelled, TaskTimeout
from conveyor_django.managers.exchange import Claim
from conveyor_django.models import Job
from conveyor_django.outcomes import Ended
from conveyor_django.states import Verb
from conveyor_django.worker.board import Board
from conveyor_django.worker.deadlines import Deadlines
from conveyor_django.worker.executor import Executor
from conveyor_django.worker.handler import Handlers
from conveyor_django.worker.inflight import Held, InFlight
from conveyor_django.worker.runs import Finished
from tests.support.bench import LEASE, A, Bench, attempts
from tests.support.connections import scalar
from tests.support.waits import PATIENCE, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' "
    "AND query LIKE 'UPDATE \"auth_group\"%'"
)
scripts: dict[str, Callable[[ConveyorContext], Awaitable[Any]]] = {}


@task(takes_context=True, timeout=0.2, max_attempts=1)
async def limited(context: ConveyorContext, script: str) -> Any:
    return await scripts[script](context)


@task(takes_context=True, max_attempts=1)
async def unlimited(context: ConveyorContext, script: str) -> Any:
    return await scripts[script](context)


class Desk:
    """The executor of a worker process, and who looks after its deadlines; `ends` gets the ends of runs, in order."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.inflight = InFlight()
        self.board, self.file = Board.create(4)
        self.deadlines = Deadlines(inflight=self.inflight, board=self.board, grace=0.0)
        self.ends: queue.SimpleQueue[Finished] = queue.SimpleQueue()
        handlers = Handlers(owner=A, alias="default", settings=bench.settings)
        self.executor = Executor(
            threads=1, handlers=handlers, board=self.board, done=self.ends.put, on_error=lambda _error: None
        )
        self.executor.start()

    def run(self, does: Callable[[ConveyorContext], Awaitable[Any]], *, limit: bool = False) -> Held:
        """Let a job's handler do that."""
        name = f"script {len(scripts)}"
        scripts[name] = does
        (limited if limit else unlimited).enqueue(name)
        claim: Claim = Job.objects.claim_jobs(owner=A, queues={"default": LEASE}, limit=1)
        [held] = self.inflight.add(claim, time.monotonic())
        self.executor.submit(held)
        return held

    def expire(self, held: Held) -> None:
        """Wait until its time is over, and interrupt it."""
        wait_until(lambda: bool(self.deadlines.look()) or held.overdue, "its time is over")

    def cancel(self, held: Held) -> None:
        held.cancel()
        held.stop()

    def next_end(self) -> Finished:
        return self.ends.get(timeout=PATIENCE)

    def close(self) -> None:
        """Close what a worker process leaves to its end: the loop, and the connection of asgiref's one thread."""
        coroutines = self.executor._coroutines
        wait_until(lambda: not coroutines._tasks, "the loop has nothing left to do")
        self.executor.stop()
        loop = coroutines._loop
        assert loop is not None
        wait_until(lambda: not loop.is_running(), "the loop has stopped")
        loop.close()
        SyncToAsync.single_thread_executor.submit(connections.close_all).result()
        self.file.close()


@pytest.fixture
def desk(connect) -> Iterator[Desk]:
    made = Desk(Bench(connect()))
    yield made
    made.close()
    scripts.clear()


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    made = threading.Event()
    yield made
    made.set()


@pytest.fixture
def locked(connect):
    """A connection that has the one Group locked."""
    Group.objects.create(name="before")
    connection = connect()
    connection.execute("BEGIN")
    connection.execute("SELECT FROM auth_group FOR UPDATE")
    yield connection
    connection.execute("ROLLBACK")


async def nothing(_context: ConveyorContext) -> None:
    pass


async def rename(_context: ConveyorContext) -> None:
    await Group.objects.aupdate(name="after")


def waits(watcher: Any) -> bool:
    return scalar(watcher, WAITING) == 1


def error_of(finished: Finished) -> type[BaseException]:
    assert finished.run is not None
    return type(finished.run.error)


IN_A_THREAD = {
    "to_thread": asyncio.to_thread,
    "orm": lambda function: sync_to_async(function)(),
    "any": lambda function: sync_to_async(function, thread_sensitive=False)(),
    "loop": lambda function: asyncio.get_running_loop().run_in_executor(None, function),
}


@pytest.mark.parametrize("way", IN_A_THREAD)
def test_a_timed_out_run_ends_with_what_it_runs_in_a_thread(desk, gate, way):
    begun = threading.Event()

    def work() -> None:
        begun.set()
        gate.wait()

    async def does(_context: ConveyorContext) -> None:
        await IN_A_THREAD[way](work)

    held = desk.run(does, limit=True)
    assert begun.wait(PATIENCE)
    desk.expire(held)
    # Whatever the loop had to do for the first is done before the second begins, let alone ends.
    neighbour = desk.run(nothing)
    assert desk.next_end().held is neighbour
    assert not held.ended
    assert desk.deadlines.look() == [held]
    assert held not in desk.inflight.to_give_back()
    # Should the process end now, the supervisor knows what became of it.
    assert desk.board.overdue(time.monotonic())[held.token].verb is Verb.FAIL
    gate.set()
    finished = desk.next_end()
    assert (finished.held, finished.outcome.verb, error_of(finished)) == (held, Verb.FAIL, TaskTimeout)
    assert held.ended


def test_a_statement_of_a_timed_out_run_is_cut_and_the_orm_goes_on(desk, locked, watcher):
    held = desk.run(rename, limit=True)
    wait_until(lambda: waits(watcher), "its statement waits for the row")
    desk.expire(held)
    finished = desk.next_end()
    assert finished.held is held
    desk.bench.finish(finished)
    assert [(verb, error) for verb, error, _ in attempts()] == [("fail", "conveyor_django.errors.TaskTimeout")]

    async def counts(_context: ConveyorContext) -> int:
        return await Group.objects.acount()

    desk.run(counts)
    after = desk.next_end()
    assert (after.outcome.verb, after.run.value) == (Verb.SUCCEED, 1)
    locked.execute("ROLLBACK")
    assert Group.objects.get().name == "before"


def test_only_what_the_stopped_run_waits_for_is_cut(desk, locked, watcher, gate):
    waiting = desk.run(rename)
    wait_until(lambda: waits(watcher), "its statement waits for the row")
    begun = threading.Event()

    async def queues_up(_context: ConveyorContext) -> None:
        begun.set()
        await sync_to_async(gate.set)()

    cancelled = desk.run(queues_up)
    assert begun.wait(PATIENCE)
    desk.cancel(cancelled)
    finished = desk.next_end()
    # What had not begun is no reason to wait, and never begins.
    assert (finished.held, error_of(finished)) == (cancelled, JobCancelled)
    assert waits(watcher)
    locked.execute("ROLLBACK")
    assert desk.next_end().held is waiting
    assert Group.objects.get().name == "after"
    assert not gate.is_set()


def test_a_cleanup_in_a_thread_runs_to_its_end(desk):
    begun, cleaned = threading.Event(), []

    async def does(_context: ConveyorContext) -> None:
        try:
            begun.set()
            await asyncio.sleep(3600)  # would never end by itself
        finally:
            await sync_to_async(cleaned.append)(1)

    held = desk.run(does)
    assert begun.wait(PATIENCE)
    desk.cancel(held)
    finished = desk.next_end()
    assert isinstance(finished.outcome, Ended)
    assert cleaned == [1]
