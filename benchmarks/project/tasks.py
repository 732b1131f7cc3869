"""The handlers of Conveyor."""

from __future__ import annotations

from django.db import connection

from benchmarks.recorder import note
from conveyor_django import task

INSERT = "INSERT INTO effects (sequence) VALUES (%s)"


@task
def noop(sequence: int, enqueued: float, pad: str) -> None:
    """Do nothing."""
    note(sequence, enqueued)


@task
async def async_noop(sequence: int, enqueued: float, pad: str) -> None:
    """Do nothing, on the event loop."""
    note(sequence, enqueued)


@task
def effect(sequence: int, enqueued: float, pad: str) -> None:
    """Write one row, in a commit of its own: at least once."""
    _write(sequence, enqueued)


@task(atomic=True)
def atomic(sequence: int, enqueued: float, pad: str) -> None:
    """Write one row, in the transaction of the success: exactly once."""
    _write(sequence, enqueued)


def _write(sequence: int, enqueued: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(INSERT, [sequence])
    note(sequence, enqueued)
