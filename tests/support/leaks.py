"""What a test may not leave behind: threads and database connections."""

from __future__ import annotations

import threading
from typing import Any

import psutil
from asgiref.sync import SyncToAsync
from django.db import connections

from conveyor_django.db import Connection

from .waits import wait_until

# Ending takes a moment: a server process outlives its client's close.
PATIENCE = 5.0


def threads_now() -> set[threading.Thread]:
    """Return the living threads, without the one that asgiref keeps for the whole process."""
    kept: set[threading.Thread] = getattr(SyncToAsync.single_thread_executor, "_threads", set())
    return set(threading.enumerate()) - kept


def sessions_now(watcher: Connection) -> dict[int, str]:
    """Return {server process: its application and last query} of the database's clients, without Django's own."""
    own = {pid for pid in map(_pid_of, connections.all(initialized_only=True)) if pid is not None}
    rows = watcher.execute(
        "SELECT pid, application_name || ': ' || left(query, 200) FROM pg_stat_activity "
        "WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    ).fetchall()
    return {pid: text for pid, text in rows if pid not in own}


def _pid_of(wrapper: Any) -> int | None:
    return None if wrapper.connection is None else wrapper.connection.info.backend_pid


def assert_no_thread_left(before: set[threading.Thread]) -> None:
    """Fail if threads were started since `before` and still live."""
    _wait_for_none(lambda: {thread.name for thread in threads_now() - before}, "thread")


def assert_no_session_left(before: set[int], watcher: Connection) -> None:
    """Fail if connections were opened since `before` and are still open."""
    try:
        _wait_for_none(
            lambda: {text for pid, text in sessions_now(watcher).items() if pid not in before},
            "database connection",
        )
    except AssertionError as error:
        raise AssertionError(f"{error}\nprograms that run:\n{_programs()}") from None


def _programs() -> str:
    """Return this machine's processes of Conveyor, a line each: one of them may hold what was leaked."""
    found = psutil.process_iter(["pid", "ppid", "create_time", "status", "cmdline"])
    return "\n".join(str(process.info) for process in found if "conveyor" in " ".join(process.info["cmdline"] or ()))


def _wait_for_none(leaked: Any, kind: str) -> None:
    try:
        wait_until(lambda: not leaked(), f"no {kind} is left", patience=PATIENCE)
    except TimeoutError:
        raise AssertionError(f"the test leaked a {kind}: {', '.join(sorted(leaked()))}") from None
