"""What a job may do in its life, and what must hold of it whoever stops where.

To add a life: a task at module level whose run ends well, and an entry in LIVES. `test_zombies.py` stops a worker at
each statement of it. Where a life is of several jobs, it is the first of them whose worker is stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import connection, transaction

from conveyor_django import ConveyorContext, task, workflow
from conveyor_django.models import Dependency, Job, Queue, Workflow
from conveyor_django.tasks import ConveyorTask

from ..support.connections import scalar
from ..support.jobs import insert_effect


@dataclass(frozen=True, kw_only=True)
class Life:
    """A task, and how often each of its effects must be there when its job has ended.

    `least` is the number of statements that a life has at least: with fewer, the hook has missed some.
    """

    least: int
    enqueue: Callable[[], object]
    # Effects that must be there exactly once, and those that must be there at least once.
    once: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    # The durable steps, each with exactly one row in the ledger.
    steps: tuple[str, ...] = ()
    # Whether one job may run at once.
    capped: bool = False
    # How many jobs are run in one transaction.
    together: int = 1
    # How many of its runs fail by themselves, and are made again.
    failures: int = 0
    # What must hold besides; called when all is over.
    check: Callable[[], None] = lambda: None


@task(backoff=0)
def plain() -> None:
    insert_effect("plain")


@task(backoff=0, atomic=True)
def atomic() -> None:
    insert_effect("first")
    insert_effect("second")


@task(backoff=0, takes_context=True)
def effect(context: ConveyorContext) -> None:
    insert_effect("before")
    with context.effect() as open_effect:
        insert_effect("inside")
        open_effect.result = "done"


@task(backoff=0, takes_context=True)
def step(context: ConveyorContext) -> None:
    for name in ("pay", "send"):
        context.step(name, insert_effect, name)


@task(backoff=0, takes_context=True)
def atomic_step(context: ConveyorContext) -> None:
    for name in ("pay", "send"):
        context.atomic_step(name, insert_effect, name)
    with context.effect():
        insert_effect("end")


@task(backoff=0, takes_context=True)
async def asynchronous(context: ConveyorContext) -> None:
    await context.astep("pay", insert_effect, "pay")
    await context.aatomic_step("send", insert_effect, "send")


@task(backoff=0, takes_context=True)
def fence(context: ConveyorContext) -> None:
    """Look and then write, in a transaction that only the holder of the lease can commit."""
    with transaction.atomic():
        context.fence()
        if not scalar(connection, "SELECT count(*) FROM test_effect"):
            insert_effect("fenced")


@task(backoff=0, atomic=True)
def write(name: str) -> None:
    insert_effect(name)


@task(backoff=0, atomic=True, takes_context=True)
def fail_first(context: ConveyorContext, name: str) -> None:
    insert_effect(name)
    if context.attempt == 1:
        raise ValueError(name)


def enqueue_group() -> None:
    """Enqueue three jobs that may share a transaction; the second one fails in its first run."""
    write.enqueue("one")
    fail_first.enqueue("fails once")
    write.enqueue("three")


def enqueue_graph(needed: ConveyorTask[..., Any], *args: str) -> None:
    """Enqueue two jobs that need a first one, and what follows them all."""
    with workflow("graph", on_completion=write.bind("end"), on_failure=write.bind("failure")) as flow:
        first = flow.add(needed, *args)
        flow.add(write, "left", after=[first])
        flow.add(write, "right", after=[first])


def check_graph() -> None:
    """Fail unless each edge was resolved once, and respected."""
    assert Workflow.objects.get().finished_at is not None
    assert not Dependency.objects.filter(resolved=False).exists()
    assert not Job.objects.exclude(workflow_role="on_failure").exclude(state="succeeded").exists()
    assert set(Job.objects.filter(workflow_role=None).values_list("pending_dependencies", flat=True)) == {0}
    for edge in Dependency.objects.select_related("job", "needs"):
        assert edge.job.started_at >= edge.needs.finished_at


def enqueue_capped(**options: Any) -> None:
    """Enqueue three jobs of which one may run at once."""
    Job.objects.make_permits([("default", options.get("concurrency_key", ""), 1)])
    for name in ("one", "two", "three"):
        write.using(**options).enqueue(name)


def enqueue_in_capped_queue() -> None:
    """Do so by the queue's cap."""
    Queue.objects.create(name="default", exact_cap=1)
    enqueue_capped()


LIVES: dict[str, Life] = {
    # claim, effect, outcome
    "plain": Life(enqueue=plain.enqueue, least=3, repeated=("plain",)),
    # claim, isolation, effects, success, commit
    "atomic": Life(enqueue=atomic.enqueue, least=6, once=("first", "second")),
    # claim, bounds; of each: savepoint, effect; the rollback of the one that fails, its outcome; success, commit
    "group": Life(enqueue=enqueue_group, least=11, once=("one", "fails once", "three"), together=3, failures=1),
    "effect": Life(enqueue=effect.enqueue, least=6, repeated=("before",), once=("inside",)),
    # Of each step: effect, isolation, record, commit.
    "step": Life(enqueue=step.enqueue, least=10, repeated=("pay", "send"), steps=("pay", "send")),
    "atomic_step": Life(enqueue=atomic_step.enqueue, least=13, once=("pay", "send", "end"), steps=("pay", "send")),
    "async": Life(enqueue=asynchronous.enqueue, least=10, repeated=("pay",), once=("send",), steps=("pay", "send")),
    # claim, lock, look, effect, commit, outcome
    "fence": Life(enqueue=fence.enqueue, least=6, once=("fenced",)),
    "workflow": Life(
        enqueue=partial(enqueue_graph, plain), least=3, repeated=("plain",), once=("left", "right", "end"),
        check=check_graph,
    ),
    "workflow of atomic jobs": Life(
        enqueue=partial(enqueue_graph, write, "top"), least=5, once=("top", "left", "right", "end"), check=check_graph
    ),
    # A run beyond the cap is an error of the statement that begins it: `conftest.py` has a trigger for it.
    "exact cap": Life(enqueue=enqueue_in_capped_queue, least=5, once=("one", "two", "three"), capped=True),
    "cap per key": Life(
        enqueue=partial(enqueue_capped, concurrency_key="k"), least=5, once=("one", "two", "three"), capped=True
    ),
}  # fmt: skip
