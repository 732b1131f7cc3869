"""What a worker process makes sure of on each new connection, before it trusts what it holds."""

from __future__ import annotations

import logging
import math
import time
import uuid
from collections.abc import Callable

from ..conf import ConveyorSettings
from ..db import Connection
from ..log import event, get_logger
from ..models import Job, Worker
from ..notify import notify_now
from .board import Board
from .inflight import InFlight

logger = get_logger("worker.reconnect")


class FailoverDetected(Exception):
    """The database's timeline changed: commits may be lost, and with them what this incarnation believes."""


class Timeline:
    """The history of the server that this process has worked with."""

    def __init__(self, *, alias: str) -> None:
        self._alias = alias
        self._known: str | None = None

    def check(self, connection: Connection) -> None:
        """Raise FailoverDetected if the server's history is another than at the first connection."""
        timeline = Worker.objects.db_manager(self._alias).server_timeline(on=connection)
        if self._known not in (None, timeline):
            raise FailoverDetected(f"timeline {self._known} became {timeline}")
        self._known = timeline


class Trust:
    """Whether a process may claim: what it claims that was declared dead is only lost again.

    Who declares it dead may end its sessions too. So after a lost connection it is given by a beat that was sent since:
    `is_given_since` says whether it is by one after a moment (monotonic), `ask` asks for one.
    """

    def __init__(
        self, *, is_given_since: Callable[[float], bool] = lambda _: True, ask: Callable[[], object] = bool
    ) -> None:
        self._is_given_since = is_given_since
        self._ask = ask
        self._since = -math.inf
        self._was_connected = False

    def connected(self) -> None:
        """Note a connection; the first one finds a process that has just registered."""
        if self._was_connected:
            self._since = time.monotonic()
            self._ask()
        self._was_connected = True

    @property
    def is_given(self) -> bool:
        """Whether it is given now."""
        return self._is_given_since(self._since)


def give_back_unknown(
    *, owner: uuid.UUID, inflight: InFlight, board: Board, settings: ConveyorSettings, alias: str, on: Connection
) -> None:
    """Give back, free, claims whose reply was lost with the connection (rule 4)."""
    jobs = Job.objects.db_manager(alias)
    for job_id, queue, state in jobs.release_unknown(
        owner=owner, known=inflight.tokens(), max_releases=settings.max_releases, on=on
    ):
        event(
            logger, logging.WARNING, "job.released",
            job=job_id, queue=queue, state=state, reason="the reply to the claim was lost",
        )  # fmt: skip
        board.count("released")
        notify_now([queue], alias=alias, on=on)
