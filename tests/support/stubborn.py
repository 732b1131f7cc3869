"""Tasks that go on for too long, or go on though they are told to stop."""

from __future__ import annotations

import asyncio
import hashlib
import time

from django.db import connection

from conveyor_django import ConveyorContext, task

from .jobs import insert_effect, note


def at_once(_error: BaseException, _result: object) -> float:
    return 0.0


@task(timeout=1, max_attempts=1)
def sleeps(folder: str, name: str) -> None:
    """Wait in C, where no interruption arrives."""
    note(folder, "start", name)
    time.sleep(3600)  # would never end by itself


@task(timeout=1, max_attempts=1)
async def sleeps_in_a_thread(folder: str, name: str) -> None:
    """Hear of the interruption, as the thread does not."""
    note(folder, "start", name)
    await asyncio.to_thread(time.sleep, 3600)


@task(timeout=1, max_attempts=1)
def computes(folder: str, name: str) -> None:
    """Work in C for hours, without the GIL."""
    note(folder, "start", name)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)


@task(timeout=1, max_attempts=1)
def holds_the_gil(folder: str, name: str) -> None:
    """Keep the whole process from doing anything, for a long time."""
    note(folder, "start", name)
    pow(3, 10**9)


@task(timeout=0.3, max_attempts=2, backoff=at_once)
def spins(folder: str, name: str) -> None:
    note(folder, "start", name)
    while True:
        pass


@task(timeout=0.3, max_attempts=1)
def waits_for_the_database(folder: str, name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(3600)")


@task(timeout=0.3, max_attempts=1)
async def dozes(folder: str, name: str) -> None:
    note(folder, "start", name)
    await asyncio.sleep(3600)  # would never end by itself


@task(timeout=0.3, max_attempts=1, atomic=True)
def spins_atomically(folder: str, name: str) -> None:
    insert_effect(name)
    while True:
        pass


@task(timeout=0.3, max_attempts=1, atomic=True)
async def dozes_atomically(folder: str, name: str) -> None:
    await asyncio.sleep(3600)  # would never end by itself


@task(timeout=0.3, max_attempts=1)
def returns_too_late(folder: str, name: str) -> str:
    """Go on until it is interrupted, and return as if nothing had been."""
    try:
        while True:
            pass
    except BaseException:  # noqa: BLE001 - what no handler should do
        return "done"


@task(takes_context=True)
def works(context: ConveyorContext, folder: str, name: str) -> None:
    """Work without an end; say whether it knew why it was stopped."""
    note(folder, "start", name)
    try:
        while True:
            pass
    finally:
        note(folder, "cancelled" if context.cancelled else "stopped", name)


@task(takes_context=True)
async def works_async(context: ConveyorContext, folder: str, name: str) -> None:
    note(folder, "start", name)
    try:
        await asyncio.sleep(3600)  # would never end by itself
    finally:
        note(folder, "cancelled" if context.cancelled else "stopped", name)


@task(atomic=True)
def works_atomically(folder: str, name: str) -> None:
    insert_effect(name)
    note(folder, "start", name)
    while True:
        pass


@task
def sleeps_for_ever(folder: str, name: str) -> None:
    note(folder, "start", name)
    time.sleep(3600)  # would never end by itself
