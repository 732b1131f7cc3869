"""The handlers of the other queues of Django, declared with the framework's own decorator."""

from __future__ import annotations

from django.db import connection
from django.tasks import task

from benchmarks.recorder import note

INSERT = "INSERT INTO effects (sequence) VALUES (%s)"


@task
def noop(sequence: int, enqueued: float, pad: str) -> None:
    """Do nothing."""
    note(sequence, enqueued)


@task
def effect(sequence: int, enqueued: float, pad: str) -> None:
    """Write one row."""
    with connection.cursor() as cursor:
        cursor.execute(INSERT, [sequence])
    note(sequence, enqueued)
