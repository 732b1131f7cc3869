"""The tasks of the fault suite: what a project's handlers do, each telling the history what it does."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.db import connection, transaction

from conveyor_django import ConveyorContext, Fixed, Retry
from conveyor_django.tasks import task

from ..history.records import History, Store
from .variables import HISTORY, NEWER_CODE, STORE, TIMEOUT
from .workload import TICK

# So many runs may fail while the database is away: an outage is no defect of a job.
OPTIONS: Final[dict[str, Any]] = {
    "takes_context": True, "max_attempts": 50, "backoff": Fixed(0.2),
    "timeout": float(os.environ[TIMEOUT]) if TIMEOUT in os.environ else None,
}  # fmt: skip


@cache
def history() -> History:
    """Return the file that everybody writes to."""
    return History(os.environ[HISTORY])


@cache
def store() -> Store:
    """Return the external store, which refuses tokens older than one that it has seen."""
    return Store(os.environ[STORE])


class Run:
    """One run of a handler, as it tells of itself."""

    def __init__(self, context: ConveyorContext) -> None:
        self.job, self.token = context.job_id, context.fencing_token

    def note(self, event: str, **fields: Any) -> None:
        """Write a line of this run."""
        history().note(event, job=self.job, token=self.token, **fields)

    def put(self) -> None:
        """Write to the external store."""
        self.note("put", accepted=store().put(self.job, self.token))

    def insert(self, name: str, step: str | None = "") -> None:
        """Write one row; nothing but Conveyor keeps it from being there twice. `step` as tests.history has it."""
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO test_effect (name, job, token, step) VALUES (%s, %s, %s, %s)",
                (name, self.job, self.token, step),
            )

    @contextmanager
    def step(self, step: str) -> Iterator[None]:
        """Tell of a step's function: around its body."""
        self.note("step_begin", step=step)
        yield
        self.note("step_end", step=step)


@contextmanager
def told(context: ConveyorContext, name: str) -> Iterator[Run]:
    """Tell of a run from its first thing to its last."""
    run = Run(context)
    run.note("begin", name=name)
    try:
        yield run
    except BaseException as error:
        run.note("abort", error=repr(error))
        raise
    run.note("end")


def work(milliseconds: int) -> None:
    """Take time, as handlers do; nothing counts on how long."""
    time.sleep(milliseconds / 1000)  # the handler's work: no test waits by it


def finish(context: ConveyorContext, run: Run, name: str) -> None:
    """Write the effect, in one commit with the job's success."""
    # From here on the success may be there before the next record is (tests.history.records).
    run.note("commit")
    with context.effect() as effect:
        run.insert(name)
        effect.result = name


@task(**OPTIONS)
def effect(context: ConveyorContext, name: str, milliseconds: int) -> None:
    with told(context, name) as run:
        work(milliseconds)
        run.put()
        finish(context, run, name)


@task(**OPTIONS, atomic=True)
def atomic(context: ConveyorContext, name: str, milliseconds: int) -> str:
    with told(context, name) as run:
        run.insert(name)
        run.put()
        work(milliseconds)
    return name


@task(**OPTIONS)
def steps(context: ConveyorContext, name: str, milliseconds: int) -> None:
    """Take a durable step, one in one transaction with its row, and another; then the effect."""
    with told(context, name) as run:

        def paid(step: str) -> str:
            with run.step(step):
                work(milliseconds // 3)
            return f"{name}:{step}"

        def written() -> str:
            with run.step("write"):
                run.insert(name, "write")
                work(milliseconds // 3)
            return f"{name}:write"

        assert context.step("first", paid, "first") == f"{name}:first"
        assert context.atomic_step("write", written) == f"{name}:write"
        assert context.step("last", paid, "last") == f"{name}:last"
        run.put()
        finish(context, run, name)


@task(**OPTIONS)
async def coroutine(context: ConveyorContext, name: str, milliseconds: int) -> str:
    """Do as `steps`, on the event loop; the success is written by the worker."""
    with told(context, name) as run:

        async def fetched() -> str:
            with run.step("fetch"):
                await asyncio.sleep(milliseconds / 2000)  # the handler's work, on the event loop
            return f"{name}:fetch"

        def written() -> str:
            with run.step("write"):
                run.insert(name, "write")
                work(milliseconds // 2)
            return f"{name}:write"

        assert await context.astep("fetch", fetched) == f"{name}:fetch"
        assert await context.aatomic_step("write", written) == f"{name}:write"
        await sync_to_async(run.put)()
    return name


@task(**OPTIONS)
def fenced(context: ConveyorContext, name: str, milliseconds: int) -> str:
    """Write in a transaction of its own, which only the fence keeps apart from another run's."""
    with told(context, name) as run:
        with transaction.atomic():
            context.fence()
            # An earlier run may have committed it and been lost after that.
            if not is_written(run.job):
                work(milliseconds)
                run.insert(name, None)
        run.put()
    return name


def is_written(job: int) -> bool:
    """Say whether a run of the job has committed its row."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM test_effect WHERE job = %s", (job,))
        return bool(cursor.fetchone()[0])


@task(**OPTIONS)
def retried(context: ConveyorContext, name: str, milliseconds: int) -> None:
    with told(context, name) as run:
        work(milliseconds)
        if context.attempt == 1:
            raise Retry(in_=0.05)
        run.put()
        finish(context, run, name)


@task(**OPTIONS, atomic=True, queue_name="orders")
def capped(context: ConveyorContext, name: str, milliseconds: int) -> str:
    with told(context, name) as run:
        run.insert(name)
        work(milliseconds)
        run.put()
    return name


@task(**OPTIONS)
def keyed(context: ConveyorContext, name: str, milliseconds: int) -> None:
    with told(context, name) as run:
        work(milliseconds)
        run.put()
        finish(context, run, name)


@task(**OPTIONS, atomic=True)
def node(context: ConveyorContext, name: str, milliseconds: int) -> str:
    """A job of a graph, or its callback."""
    with told(context, name) as run:
        run.insert(name)
        run.put()
        work(milliseconds)
    return name


@task(**OPTIONS)
def tick(context: ConveyorContext) -> None:
    """Enqueued by the schedulers, each second."""
    name = f"{TICK}{context.job_id}"
    with told(context, name) as run:
        finish(context, run, name)


if os.environ.get(NEWER_CODE):

    @task(**OPTIONS, atomic=True)
    def newcomer(context: ConveyorContext, name: str, milliseconds: int) -> str:
        """A task that the older code does not know."""
        with told(context, name) as run:
            run.insert(name)
            work(milliseconds)
            run.put()
        return name

    @task(**OPTIONS, atomic=True)  # type: ignore[no-redef]
    def atomic(context: ConveyorContext, name: str, milliseconds: int, colour: str = "grey") -> str:
        """The same task with one more parameter, which calls of the older code do not give."""
        with told(context, name) as run:
            run.insert(name)
            run.put()
            work(milliseconds)
        return f"{name}:{colour}"
