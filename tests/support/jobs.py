"""Tasks for tests with real workers. Each writes what it does to a journal outside of the database."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from django.db import connection, transaction

from conveyor_django import ConveyorContext
from conveyor_django.tasks import task

JOURNAL = "journal"
GO = "go"


def note(folder: str, what: str, name: str) -> None:
    """Append one line, in one write: `what name pid`."""
    with (Path(folder) / JOURNAL).open("a") as journal:
        journal.write(f"{what} {name} {os.getpid()}\n")


def wait_for_go(folder: str) -> None:
    """Wait, as a slow handler does, until the test says go: the handler sleeps, the test never does."""
    while not (Path(folder) / GO).exists():
        time.sleep(0.01)  # the handler's work, which ends when the test says so


def insert_effect(name: str) -> None:
    """Write one row; nothing but Conveyor keeps it from being written twice."""
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO test_effect (name) VALUES (%s)", (name,))


@task
def quick(folder: str, name: str) -> str:
    note(folder, "start", name)
    return name


@task
def gated(folder: str, name: str) -> str:
    note(folder, "start", name)
    wait_for_go(folder)
    note(folder, "end", name)
    return name


@task(max_attempts=1)
def gated_once(folder: str, name: str) -> str:
    note(folder, "start", name)
    wait_for_go(folder)
    note(folder, "end", name)
    return name


@task(atomic=True)
def gated_effect(folder: str, name: str) -> str:
    note(folder, "start", name)
    insert_effect(name)
    wait_for_go(folder)
    note(folder, "end", name)
    return name


@task(atomic=True)
def late_effect(folder: str, name: str) -> str:
    """Wait first, outside of any statement, then write."""
    note(folder, "start", name)
    wait_for_go(folder)
    insert_effect(name)
    note(folder, "end", name)
    return name


@task(atomic=True)
def effect_before_commit(folder: str, name: str) -> str:
    """Wait after the fenced success has been written, and before its commit."""
    insert_effect(name)
    commit = connection._commit

    def commit_on_go() -> None:
        del connection._commit
        note(folder, "start", name)
        wait_for_go(folder)
        commit()

    connection._commit = commit_on_go
    return name


@task(takes_context=True)
def dies_after_each_step(context: ConveyorContext, folder: str) -> str:
    """Take five steps; after each, the first time, kill the process that runs it."""
    for number in range(1, 6):
        name = f"step-{number}"
        context.step(name, note, folder, "done", name)
        killed = Path(folder) / f"killed-{number}"
        if not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return "all done"


@task(atomic=True)
def effect_or_kill(folder: str, name: str, *, kills: bool = False) -> str:
    """Write a row; where asked, kill the process that runs it, the first time."""
    insert_effect(name)
    killed = Path(folder) / "killed"
    if kills and not killed.exists():
        killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return name


@task(atomic=True)
def effect(name: str, seconds: float = 0.0) -> str:
    insert_effect(name)
    # A handler that takes its time; no test counts on how long.
    time.sleep(seconds)
    return name


@task
def poison(folder: str, name: str) -> None:
    """Kill the process that runs it, as an out-of-memory killer would."""
    note(folder, "start", name)
    os.kill(os.getpid(), signal.SIGKILL)


@task(max_attempts=3, backoff=lambda _exception, _result: 0)
def fails(folder: str, name: str) -> None:
    note(folder, "start", name)
    raise ValueError(f"{name} always fails")


@task
def returns_nul() -> str:
    return "a\x00b\ud800"


@task
async def gated_async(folder: str, name: str) -> str:
    note(folder, "start", name)
    while not (Path(folder) / GO).exists():  # noqa: ASYNC110 - the event is a file
        await asyncio.sleep(0.01)  # the handler's work, which ends when the test says so
    note(folder, "end", name)
    return name


@task
async def stray_exit(folder: str, name: str) -> None:
    """End the event loop from a task that nobody awaits."""

    async def leave() -> None:
        sys.exit(1)

    stray = asyncio.create_task(leave())
    await asyncio.wait([stray])


@task
def exits_cleanly(folder: str, name: str) -> None:
    """Leave the process with the code of a clean end."""
    note(folder, "start", name)
    os._exit(0)


class Rude(Exception):
    """Cannot even be shown."""

    def __str__(self) -> str:  # noqa: PLE0307 - that is the point
        sys.exit(9)


@task(max_attempts=1)
def rude() -> None:
    raise Rude


def leave_instead_of_a_delay(_exception: BaseException, _result: object) -> float:
    sys.exit(1)


@task(max_attempts=2, backoff=leave_instead_of_a_delay)
def rude_backoff() -> None:
    raise ValueError("x")


@task(max_attempts=3, backoff=lambda _exception, _result: 0)
async def fails_async() -> None:
    raise ValueError("always")


@task(atomic=True, max_attempts=1)
def leaves_a_block_open(name: str) -> None:
    insert_effect(name)
    transaction.atomic().__enter__()


@task
async def leaves_autocommit_off() -> None:
    from asgiref.sync import sync_to_async

    await sync_to_async(lambda: connection.set_autocommit(False))()


@task
async def effect_async(name: str) -> None:
    from asgiref.sync import sync_to_async

    await sync_to_async(insert_effect)(name)


@task
def hands_on(folder: str, name: str) -> None:
    """Enqueue another job."""
    quick.enqueue(folder, f"{name}-next")


@task(max_attempts=1)
def fails_until_go(folder: str, name: str) -> str:
    """Fail until the test says go."""
    note(folder, "start", name)
    if not (Path(folder) / GO).exists():
        raise ValueError(f"{name} is not ready yet")
    return name


class Lingering:
    """Stops the interpreter half-way through its end: the modules are gone already, so all that it needs is its own."""

    def __init__(self, folder: str, name: str) -> None:
        self._gate = os.open(f"{folder}/gate", os.O_RDWR)
        self._journal = os.open(f"{folder}/{JOURNAL}", os.O_WRONLY | os.O_APPEND)
        self._line = f"linger {name} {os.getpid()}\n".encode()
        self._read, self._write = os.read, os.write

    def __del__(self) -> None:
        self._write(self._journal, self._line)
        self._read(self._gate, 1)


@task
def lingers(folder: str, name: str) -> str:
    """Let the process stand still while it takes itself down, until a signal or a byte in the folder's gate."""
    note(folder, "start", name)
    # Among the first that Python drops, once it has taken its signal handlers away.
    sys.ps1 = Lingering(folder, name)
    return name
