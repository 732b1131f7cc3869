"""What the scheduler's tests share: a listener for wake-ups, loops that end with the test, real processes."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conveyor_django import crontab
from conveyor_django.conf import ConveyorSettings
from conveyor_django.db import Connection
from conveyor_django.notify import CHANNEL
from conveyor_django.scheduler.duty import Look
from conveyor_django.scheduler.loop import SchedulerLoop

from ..support.connections import Connect, plain_connection, scalar
from ..support.databases import process_environment
from ..support.waits import PATIENCE, wait_until
from .ticking import Clock, make_duty

ROOT = Path(__file__).resolve().parent.parent.parent
_SENTINEL = "sentinel of the test"


class Listener:
    """Hears which queues are woken."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        connection.execute(f"LISTEN {CHANNEL}")

    def heard(self) -> list[str]:
        """Return the queues woken since the last call; notifications come in the order of their commits."""
        self._connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, _SENTINEL))
        queues: list[str] = []
        for notification in self._connection.notifies(timeout=PATIENCE):
            if notification.payload == _SENTINEL:
                return sorted(queues)
            queues.append(notification.payload)
        raise AssertionError("the listener's own notification did not arrive")


@pytest.fixture
def listener(connect: Connect) -> Listener:
    return Listener(connect("listener of the test"))


@pytest.fixture
def connection(transactional_db: None, connect: Connect) -> Connection:
    """A dedicated connection, as the loop has one."""
    return connect("conveyor scheduler of the test")


@pytest.fixture
def start_loop(transactional_db: None) -> Iterator[Callable[..., SchedulerLoop]]:
    """Start a scheduler's loop on a thread; it is stopped when the test ends, and may not have died."""
    loops: list[SchedulerLoop] = []
    failures: list[BaseException] = []

    def start(**settings: Any) -> SchedulerLoop:
        loop = SchedulerLoop(
            alias="default",
            settings=ConveyorSettings(**{"scheduler_seconds": 0.05} | settings),
            on_error=lambda _loop, error: failures.append(error),
        )
        loops.append(loop)
        loop.start()
        return loop

    yield start
    for loop in loops:
        loop.stop()
    for loop in loops:
        assert loop.join(PATIENCE)
    assert failures == []


class Process:
    """A real `manage.py conveyor_scheduler`."""

    def __init__(self, log: Path, *arguments: str, **database: Any) -> None:
        self._log = log
        with log.open("wb") as stderr:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "testproject", "conveyor_scheduler", *arguments],
                cwd=ROOT, env=process_environment(**database), stderr=stderr,
            )  # fmt: skip

    def log(self) -> str:
        """Return what it has written to stderr."""
        return self._log.read_text()

    def wait_until_logged(self, text: str) -> None:
        """Wait until it has logged `text`."""
        wait_until(lambda: text in self.log(), f"the scheduler logs {text!r}")

    def session(self, watcher: Connection) -> int:
        """Wait until it is connected; return its server process."""
        name = f"conveyor scheduler % {self._popen.pid}"
        query = "SELECT max(pid) FROM pg_stat_activity WHERE application_name LIKE %s"
        wait_until(lambda: scalar(watcher, query, (name,)) is not None, "the scheduler is connected")
        return int(scalar(watcher, query, (name,)))

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._popen.send_signal(number)

    def exit_code(self) -> int:
        """Wait for its end."""
        return self._popen.wait(PATIENCE)

    def kill(self) -> None:
        """End it, if it has not ended; pytest shows its lines if the test failed."""
        self._popen.kill()
        self._popen.wait(PATIENCE)
        sys.stderr.write(self.log())


@pytest.fixture
def run_scheduler(transactional_db: None, tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Start `manage.py conveyor_scheduler` with arguments; killed when the test ends."""
    processes: list[Process] = []

    def run(*arguments: str, **database: Any) -> Process:
        processes.append(Process(tmp_path / f"scheduler-{len(processes)}.log", *arguments, **database))
        return processes[-1]

    yield run
    for process in processes:
        process.kill()


@pytest.fixture
def plain(transactional_db: None) -> Iterator[Connection]:
    """A connection like any other program's."""
    connection = plain_connection()
    yield connection
    connection.close()


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The code's entries: none, but what the test declares."""
    fresh: dict[str, Any] = {}
    monkeypatch.setattr(crontab, "_entries", fresh)
    return fresh


@pytest.fixture
def clock() -> Clock:
    """A clock at AT, which the test sets."""
    return Clock()


@pytest.fixture
def look(connection: Connection, clock: Clock) -> Callable[[float], Look]:
    """Look with one duty at so many seconds after AT."""
    duty = make_duty(clock)

    def look_at(seconds: float) -> Look:
        clock.seconds = seconds
        return duty.look_once(connection)

    return look_at
