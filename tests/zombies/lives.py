"""What a job may do in its life, and what must hold of it whoever stops where.

To add a life: a task at module level whose run ends well, and an entry in LIVES. `test_zombies.py` stops a worker at
each statement of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from conveyor_django import ConveyorContext, task
from conveyor_django.tasks import ConveyorTask

from ..support.connections import scalar
from ..support.jobs import insert_effect


@dataclass(frozen=True, kw_only=True)
class Life:
    """A task, and how often each of its effects must be there when its job has ended.

    `least` is the number of statements that a life has at least: with fewer, the hook has missed some.
    """

    task: ConveyorTask[..., Any]
    least: int
    # Effects that must be there exactly once, and those that must be there at least once.
    once: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    # The durable steps, each with exactly one row in the ledger.
    steps: tuple[str, ...] = ()
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


LIVES: dict[str, Life] = {
    # claim, effect, outcome
    "plain": Life(task=plain, least=3, repeated=("plain",)),
    # claim, isolation, effects, success, commit
    "atomic": Life(task=atomic, least=6, once=("first", "second")),
    "effect": Life(task=effect, least=6, repeated=("before",), once=("inside",)),
    # Of each step: effect, isolation, record, commit.
    "step": Life(task=step, least=10, repeated=("pay", "send"), steps=("pay", "send")),
    "atomic_step": Life(task=atomic_step, least=13, once=("pay", "send", "end"), steps=("pay", "send")),
    "async": Life(task=asynchronous, least=10, repeated=("pay",), once=("send",), steps=("pay", "send")),
    # claim, lock, look, effect, commit, outcome
    "fence": Life(task=fence, least=6, once=("fenced",)),
}
