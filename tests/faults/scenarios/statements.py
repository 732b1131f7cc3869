"""A backend terminated at each kind of statement of a job's life: once before it is carried out, once after."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg

from ...support.waits import wait_until
from ..link import Fate, Link
from ..proxy import Proxy
from ..stage import Stage
from ..wire import kind_of
from .base import Scenario
from .network import PRODUCER

LISTEN: Final = "LISTEN CONVEYOR_READY"
END_LISTENERS: Final = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'conveyor % listener'"
)
# What every run with this workload asks for; a kind that is not among these is met as well, if it comes.
HOT: Final = frozenset({
    "claim_jobs", "succeed_jobs", "end_attempts", "renew_leases", "record_step", "hold_fence",
    "beat_worker", "release_unknown", "server_timeline", "hold_worker_lock",
    "promote_jobs", "rescue_jobs", "find_dead_workers", "tick_cron",
    "notify_queues", "BEGIN", "COMMIT", "INSERT INTO", LISTEN,
})  # fmt: skip
# Both ways of each kind.
WAYS: Final = ("before", "after")
# Seconds. A process that is cut off at each of its statements waits up to five before the next.
PATIENCE: Final = 180.0


class Terminator:
    """A rule of the proxy: the backend of the first connection that asks for a kind of statement is terminated.

    Before: the backend is gone when the statement comes. After: it has carried the statement out and answered, and
    goes before its answer has arrived.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._left: dict[str, list[str]] = {}
        # One at a time: the next kind would else be one of those with which a process begins anew.
        self._turn = asyncio.Lock()
        self.met: list[str] = []

    async def __call__(self, link: Link, statements: list[str]) -> Fate:
        """Terminate the link's backend if a kind of statement is asked for that is not done with."""
        if link.requests.application_name == PRODUCER or link.replies.backend_pid is None:
            return Fate.PASS
        for kind in map(kind_of, statements):
            left = self._left.setdefault(kind, list(WAYS))
            if not left:
                continue
            way = left.pop(0)
            self.met.append(f"{kind} ({way})")
            if way == "after":
                return Fate.LOSE_REPLY
            await asyncio.to_thread(terminate, self._stage.server.url, link.replies.backend_pid)
            return Fate.PASS
        return Fate.PASS

    def missing(self) -> set[str]:
        """Return the hot kinds that were not met in both ways."""
        return {kind for kind in HOT if self._left.get(kind, WAYS)}


def terminate(url: str, pid: int) -> None:
    """End a backend, and wait until it is gone."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


class EachStatement:
    """A proxy with the terminator behind it."""

    def __init__(self) -> None:
        self._proxy: Proxy

    @contextmanager
    def around(self, stage: Stage) -> Iterator[None]:
        """Put the proxy between."""
        with Proxy(stage.server.socket, seed=stage.seed) as self._proxy:
            stage.environment["DATABASE_URL"] = self._proxy.url(stage.server.url)
            yield

    def strike(self, stage: Stage) -> None:
        """Terminate until each kind of statement was met in both ways."""
        stage.wait_begun(0.05)
        terminator = Terminator(stage)
        with stage.fault("a backend terminated at each kind of statement"):
            self._proxy.rule = terminator
            try:
                _end_listeners(stage, terminator)
                wait_until(lambda: not terminator.missing(), "each kind of statement was met", patience=PATIENCE)
            except TimeoutError as error:
                raise TimeoutError(f"{error}; not met: {sorted(terminator.missing())}") from None
            finally:
                self._proxy.rule = None
        for met in terminator.met:
            stage.history.note("fault", what=f"terminated at {met}")


def _end_listeners(stage: Stage, terminator: Terminator) -> None:
    """Have the listeners listen anew, for each way: they say so at connect alone."""
    for way in WAYS:
        stage.server.execute(END_LISTENERS)
        wait_until(
            lambda way=way: f"{LISTEN} ({way})" in terminator.met, f"a listener was met {way}", patience=PATIENCE
        )


EACH = EachStatement()
SCENARIOS = [
    Scenario(
        name="each-statement", what="a backend terminated at each kind of statement, before it and after it",
        strike=EACH.strike, around=EACH.around, producer={"PGAPPNAME": PRODUCER},
    ),
]  # fmt: skip
