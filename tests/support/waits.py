"""Waiting until the database shows that something has happened: polled, bounded, never a bare sleep."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from conveyor_django.db import Connection

from .connections import scalar

PATIENCE = 20.0
_never = threading.Event()


def wait_until(condition: Callable[[], bool], what: str, *, patience: float = PATIENCE) -> None:
    """Poll `condition` until it holds.

    Raises TimeoutError that names `what` after `patience` seconds; not AssertionError, so that no test that expects
    one takes a wait in vain for it.
    """
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {patience:g} s in vain until {what}")
        _never.wait(0.005)


def backend_pid(connection: Connection) -> int:
    """Return the server process of a connection."""
    return connection.info.backend_pid


def is_blocked(watcher: Any, pid: int) -> bool:
    """Say whether the server process waits for a lock that another process holds."""
    return bool(scalar(watcher, "SELECT cardinality(pg_blocking_pids(%s)) > 0", (pid,)))


def wait_until_blocked(watcher: Any, pid: int) -> None:
    """Wait until the server process waits for somebody's lock; `watcher` is a connection of its own."""
    wait_until(lambda: is_blocked(watcher, pid), f"server process {pid} waits for a lock")


def wait_until_gone(watcher: Any, pid: int) -> None:
    """Wait until the server process has ended."""
    wait_until(
        lambda: scalar(watcher, "SELECT count(*) FROM pg_stat_activity WHERE pid = %s", (pid,)) == 0,
        f"server process {pid} has ended",
    )
