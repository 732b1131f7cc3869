"""Tasks that do not stop when they are told to: of a zombie of theirs nothing but the database refuses the writes.

What a project's handler does that has a bare ``except:`` around its work, or is in a C library meanwhile. Each is late
in its own way, which meets another statement's fence: see the kinds in workload.py.
"""

from __future__ import annotations

from contextlib import suppress

from django.db import connection, transaction

from conveyor_django import ConveyorContext, Retry
from conveyor_django.tasks import task

from .gates import EARLY, LATER, Gates
from .jobs import OPTIONS, Run, is_written, told, work


def outlast(run: Run, milliseconds: int) -> None:
    """Work: before a process is frozen, until told to stop and in spite of it; after that, as long as the fault says.

    Without a connection, as long handlers do: one from before the fault would be ended with the dead owner's sessions.
    """
    gates = Gates.of_this_process()
    if not gates.is_frozen:
        connection.close()
        # This is what it is about: the interrupt is not heeded.
        with suppress(BaseException):
            gates.wait(EARLY, run.job)
    elif gates.was_frozen(run.job):
        gates.wait(LATER, run.job)
    else:
        # In line before the next runs of those that are frozen.
        work(milliseconds // 4)


@task(**OPTIONS)
def returns(context: ConveyorContext, name: str, milliseconds: int) -> str:
    with told(context, name) as run:
        outlast(run, milliseconds)
        run.put()
    return name


@task(**OPTIONS)
def raises(context: ConveyorContext, name: str, milliseconds: int) -> None:
    with told(context, name) as run:
        outlast(run, milliseconds)
        run.put()
        if context.fencing_token == 1:
            raise Retry(in_=0.05)


@task(**OPTIONS)
def records(context: ConveyorContext, name: str, milliseconds: int) -> None:
    with told(context, name) as run:

        def outlasted() -> int:
            with run.step("only"):
                outlast(run, milliseconds)
            return run.token

        context.step("only", outlasted)
        run.put()


@task(**OPTIONS)
def fences(context: ConveyorContext, name: str, milliseconds: int) -> None:
    """Write once, by the look of before the work: only the fence keeps a run from writing by an old look."""
    with told(context, name) as run:
        before = is_written(run.job)
        outlast(run, milliseconds)
        with transaction.atomic():
            context.fence()
            if not before:
                run.insert(name, None)
        run.put()
