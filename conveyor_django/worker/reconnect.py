"""What a worker process makes sure of on each new connection, before it trusts what it holds."""

from __future__ import annotations

import logging
import uuid

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
