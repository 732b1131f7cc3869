"""PgBouncer in transaction mode: no session settings, no session locks, no LISTEN; then it dies."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ..bouncer import Bouncer, own_bouncer
from ..fleet import send
from ..stage import Stage
from .base import Scenario

# Server sessions for all processes of a run: far fewer than they have connections.
POOL: Final = 6


class Pooled:
    """A PgBouncer that everything of a run goes through."""

    def __init__(self) -> None:
        self._bouncer: Bouncer

    @contextmanager
    def around(self, stage: Stage) -> Iterator[None]:
        """Put PgBouncer between."""
        with own_bouncer(str(Path(stage.server.socket).parent), pool=POOL) as self._bouncer:
            stage.environment["DATABASE_URL"] = self._bouncer.url(stage.server.url)
            yield

    def strike(self, stage: Stage) -> None:
        """Kill a child, then PgBouncer, and start it again."""
        stage.wait_begun(0.1, 0.3)
        victim = stage.busiest_child()
        with stage.fault("kill -9 of a child behind PgBouncer", pids=[victim]):
            send(signal.SIGKILL, [victim])
        stage.wait_begun(0.4, 0.6)
        stage.busiest_child()
        with stage.fault("kill -9 of PgBouncer, and another start"):
            self._bouncer.kill()
            stage.fleet.workers[0].wait_for("database.unavailable", loop="pump")
            self._bouncer.start()


POOLED = Pooled()
SCENARIOS = [
    Scenario(
        name="pgbouncer", what="PgBouncer in transaction mode; a child is killed, then PgBouncer itself",
        strike=POOLED.strike, around=POOLED.around,
    ),
]  # fmt: skip
