"""A pump in the test's process, with handlers that the test finishes itself."""

from __future__ import annotations

import threading
import uuid

from conveyor_django.conf import conveyor_settings
from conveyor_django.outcomes import Succeed
from conveyor_django.worker.board import Board, board_places
from conveyor_django.worker.inflight import Held, InFlight
from conveyor_django.worker.plan import QueuePlan
from conveyor_django.worker.pump import Pump
from conveyor_django.worker.reconnect import Trust
from conveyor_django.worker.runs import Finished

from .waits import wait_until

SLOTS = 4


class Hands:
    """Stands in for the executor: keeps what is submitted until the test says how it ended."""

    def __init__(self) -> None:
        self.held: list[Held] = []
        self.announced: list[Finished] = []

    def submit(self, *jobs: Held) -> None:
        self.held += jobs

    def announce(self, finished: Finished) -> None:
        self.announced.append(finished)


class Bench:
    """A pump and its parts; it looks at "default", or at the queues named."""

    def __init__(self, owner: uuid.UUID, *queues: str, max_jobs: int | None = None, drain: bool = False) -> None:
        self.errors: list[BaseException] = []
        self.owner = owner
        self.board, self.file = Board.create(board_places(SLOTS))
        self.inflight = InFlight()
        self.hands = Hands()
        self.idle = threading.Event()
        self.trusted = True
        self.beaten_at = 0.0
        self.returns: list[int] = []
        plan = QueuePlan(queues or ["default"], alias="default", lease_seconds=30.0)
        self.pump = Pump(
            owner=owner, slots=SLOTS, poll=60.0, plan=plan, inflight=self.inflight, board=self.board,
            settings=conveyor_settings(), max_jobs=max_jobs, drain=drain, on_idle=self.idle.set,
            alias="default",
            trust=Trust(
                is_given_since=lambda since: self.trusted and self.beaten_at >= since,
                ask=lambda: self.returns.append(1),
            ),
            application_name="conveyor test pump", lease_seconds=30.0,
            on_error=lambda _loop, error: self.errors.append(error),
        )  # fmt: skip
        self.pump.executor = self.hands

    def wait_held(self, count: int) -> list[Held]:
        wait_until(lambda: len(self.hands.held) >= count, f"{count} jobs are submitted")
        return self.hands.held

    def succeed(self, held: Held) -> None:
        claimed = held.claimed
        self.pump.done(Finished(held, Succeed(id=claimed.id, version=claimed.version)))

    def stop(self) -> None:
        self.pump.stop()
        assert self.pump.join(10)
        self.file.close()
