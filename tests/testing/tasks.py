"""Tasks for the tests of `conveyor_django.testing`."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.db import DatabaseError, connection, transaction

from conveyor_django import ConveyorContext, task
from conveyor_django.models import Queue


@task
def add(a: int, b: int = 0) -> int:
    """Return a sum."""
    return a + b


@task
async def add_later(a: int) -> int:
    """Write from async code and return."""
    await sync_to_async(Queue.objects.create)(name=f"async-{a}")
    return a


@task
def write(name: str) -> str:
    """Write one row."""
    return Queue.objects.create(name=name).name


@task(max_attempts=2, backoff=lambda _error, _result: 60)
def write_and_fail(name: str) -> None:
    """Write one row, and raise."""
    Queue.objects.create(name=name)
    raise ValueError(name)


@task(atomic=True, max_attempts=1)
def write_atomically(name: str, fail: bool = False) -> str:
    """Write one row; with the job's success, or not at all."""
    Queue.objects.create(name=name)
    transaction.on_commit(lambda: add.enqueue(1, 1) and None)
    if fail:
        raise ValueError(name)
    return name


@task(atomic=True)
def raise_in_a_hook() -> None:
    """Succeed, and raise afterwards."""
    transaction.on_commit(lambda: 1 / 0)


@task(max_attempts=1)
def break_the_transaction() -> None:
    """Leave a statement's error to the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 / 0")


@task
def survive_an_error() -> str:
    """Catch a statement's error as one does, in a block of its own."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")
    except DatabaseError:
        return Queue.objects.create(name="after").name
    return "no error"


@task(takes_context=True)
def which_run(context: ConveyorContext) -> dict[str, Any]:
    """Return what the context says of the run."""
    return {"attempt": context.attempt, "token": context.fencing_token}


@task
def enqueue_another(left: int) -> int:
    """Enqueue itself until there is none left."""
    if left:
        enqueue_another.enqueue(left - 1)
    return left


@task(queue_name="orders")
def order(number: str) -> str:
    """Belong to another queue."""
    return number
