"""Tasks of the tests of workflows."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from conveyor_django import ConveyorContext, Fail, Fixed, needs, task, workflow
from conveyor_django.models import Job
from conveyor_django.workflows import Needed

from .jobs import insert_effect


@task
def value(given: Any = None) -> Any:
    """Return what it was given."""
    return given


@task(max_attempts=1)
def fails(why: str = "no") -> None:
    raise ValueError(why)


@task
def gives_up() -> None:
    raise Fail("it is not worth it")


@task(takes_context=True)
def results(context: ConveyorContext) -> dict[str, Any]:
    """Return the results of the jobs that it needs."""
    return context.results


@task(takes_context=True)
async def results_async(context: ConveyorContext) -> dict[str, Any]:
    return await context.aresults()


def shown(needed: dict[str, Needed]) -> dict[str, Any]:
    return {name: asdict(job) | {"job_id": None} for name, job in needed.items()}


@task(takes_context=True)
def needed(context: ConveyorContext) -> dict[str, Any]:
    """Return what became of the jobs that it needs."""
    assert context.needed is context.needed
    return shown(context.needed)


@task(takes_context=True)
async def needed_async(context: ConveyorContext) -> dict[str, Any]:
    return shown(await context.aneeded())


@task(takes_context=True)
def fans_out(context: ConveyorContext, count: int) -> int | None:
    """Add jobs to its own workflow: so many, and one that gathers their results."""
    with context.workflow() as wf:
        parts = [wf.add(value, number, name=f"part {number}") for number in range(count)]
        wf.add(results, name="gather", after=parts)
    return context.workflow_id


@task(takes_context=True, atomic=True)
def fans_out_atomically(context: ConveyorContext, count: int) -> int | None:
    return fans_out.func(context, count)


@task(takes_context=True)
async def fans_out_async(context: ConveyorContext, count: int) -> None:
    async with context.workflow() as wf:
        wf.add(value, count, name="part")


@task(takes_context=True, max_attempts=1)
def fans_out_and_fails(context: ConveyorContext) -> None:
    with context.workflow() as wf:
        wf.add(value)
        raise ValueError("in the block")


@task(takes_context=True)
def follows_itself(context: ConveyorContext) -> None:
    """Add a job that needs the one that runs now."""
    with context.workflow() as wf:
        wf.add(results, name="then", after=[needs(context.job_id, on_failure="cancel")])


@task
def with_words(name: str, after: str, on_failure: str = "") -> str:
    """Has parameters named as those of `add`."""
    return f"{name} {after} {on_failure}"


@task
def begins_another() -> int:
    with workflow("another") as wf:
        wf.add(value)
    return wf.id


@task(atomic=True, max_attempts=1)
def node(name: str, seconds: float, ends_badly: bool) -> str:
    """A job of a large graph: it has an effect, takes its time, and may fail."""
    insert_effect(name)
    time.sleep(seconds)  # the work of the handler: no test waits by it
    if ends_badly:
        raise ValueError(name)
    return name


@task(takes_context=True, max_attempts=2, backoff=Fixed(0))
def fans_out_in_its_effect(context: ConveyorContext) -> None:
    """Add jobs in the commit of its success; the first run fails in it."""
    with context.effect(), context.workflow() as wf:
        wf.add(value, name="part")
        if context.attempt == 1:
            raise ValueError("the first run")


@task(takes_context=True)
def loses_its_lease(context: ConveyorContext) -> None:
    """Add a job when another run has taken over already: a zombie."""
    Job.objects.filter(pk=context.job_id).update(lease_version=context.fencing_token + 1)
    with context.workflow() as wf:
        wf.add(value)
