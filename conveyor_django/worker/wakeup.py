"""The wake-up of a worker process: LISTENs, so that a job starts before the next poll."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from typing import Any, Final

import psycopg

from ..db import Connection, DatabaseLoop, is_pooled
from ..log import event, get_logger
from ..notify import CANCEL_CHANNEL, CHANNEL

logger = get_logger("worker.wakeup")

# What its session is called, behind its owner.
ROLE: Final = "listener"
# A connection can look alive and hear nothing (half open, or behind a pooler): say something to ourselves.
PROBE_SECONDS: Final = 10.0
DEAF_SECONDS: Final = 5.0
_PROBE: Final = "\x1fprobe "


class ListenerDeaf(psycopg.OperationalError):
    """The listener did not hear its own notification."""


class Wakeup(DatabaseLoop):
    """Passes on the queues and the cancelled jobs that it is notified of: hints only, polls and heartbeats never stop.

    `on_queue` gets each queue's name, `on_cancel` each job's id; `on_doubt` is called when notifications may have been
    missed.
    """

    name = "wakeup"

    def __init__(
        self,
        *,
        owner: uuid.UUID,
        on_queue: Callable[[str], None],
        on_doubt: Callable[[], None],
        on_cancel: Callable[[int], None],
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._probe = f"{_PROBE}{owner}"
        self._on_queue = on_queue
        self._on_doubt = on_doubt
        self._on_cancel = on_cancel

    def connected(self, connection: Connection) -> None:
        """Listen; whatever was said before is lost, so look."""
        if is_pooled(connection):
            event(logger, logging.WARNING, "listener.deaf", reason="a pooler stands between: polling only")
            self.stopping.wait()
            return
        for channel in (CHANNEL, CANCEL_CHANNEL):
            connection.execute(f"LISTEN {channel}")
        self._on_doubt()

    def work(self, connection: Connection) -> None:
        """Pass on notifications and probe the connection, until stopped."""
        heard_at = asked_at = time.monotonic()
        while not self.stopping.is_set():
            for notification in connection.notifies(timeout=1.0, stop_after=1):
                if notification.payload == self._probe:
                    heard_at = time.monotonic()
                elif notification.channel == CANCEL_CHANNEL:
                    self._heard_of_cancel(notification.payload)
                elif not notification.payload.startswith(_PROBE):
                    self._on_queue(notification.payload)
            now = time.monotonic()
            if asked_at > heard_at and now - asked_at > DEAF_SECONDS:
                event(logger, logging.WARNING, "listener.deaf", reason="its own notification did not come back")
                raise ListenerDeaf("the listener did not hear its own notification")
            if asked_at <= heard_at and now - asked_at > PROBE_SECONDS:
                asked_at = now
                connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, self._probe))
            self.healthy()

    def _heard_of_cancel(self, payload: str) -> None:
        # Anybody may notify.
        if payload.isascii() and payload.isdecimal():
            self._on_cancel(int(payload))
