"""Statements about worker processes."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .base import Connection, StatementManager


def application_name(incarnation: uuid.UUID, role: str = "") -> str:
    """Return the application_name of an incarnation's sessions; `role` says which of them.

    At most 63 bytes (PostgreSQL's NAMEDATALEN − 1), so a role has at most 17 characters.
    """
    return f"conveyor {incarnation} {role}".rstrip()


class Beat(NamedTuple):
    """The answer to a sign of life: whether somebody has asked the worker to drain."""

    drain_requested: bool


class Place(NamedTuple):
    """Where a worker process runs, or ran."""

    host: str
    pid: int


class WorkerManager(StatementManager):
    """Statements on the table of workers; instants are the database's unless `now` is given."""

    def register_worker(
        self,
        *,
        incarnation: uuid.UUID,
        host: str,
        pid: int,
        supervisor_pid: int,
        queues: Sequence[str],
        slots: int,
        lease_seconds: float,
        holds_lock: bool,
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> None:
        """Make an incarnation known. Raises IntegrityError if it is known already."""
        params = {
            "incarnation": incarnation, "host": host, "pid": pid, "supervisor_pid": supervisor_pid,
            "queues": json.dumps(list(queues)), "slots": slots, "lease_seconds": lease_seconds,
            "holds_lock": holds_lock, "now": now,
        }  # fmt: skip
        self.rows("register_worker", params, on)

    def hold_worker_lock(self, *, incarnation: uuid.UUID, on: Connection | None = None) -> bool:
        """Take the incarnation's session lock on `on`; False if another session holds it."""
        return bool(self.rows("hold_worker_lock", {"incarnation": str(incarnation)}, on)[0][0])

    def beat_worker(
        self,
        *,
        incarnation: uuid.UUID,
        draining: bool,
        holds_lock: bool,
        now: dt.datetime | None = None,
        on: Connection | None = None,
    ) -> Beat | None:
        """Say that the incarnation lives; None if its row is gone: it was declared dead and must stop."""
        params = {"incarnation": incarnation, "draining": draining, "holds_lock": holds_lock, "now": now}
        rows = self.rows("beat_worker", params, on)
        return Beat(*rows[0]) if rows else None

    def drain_workers(
        self, incarnations: Iterable[uuid.UUID], *, now: dt.datetime | None = None, on: Connection | None = None
    ) -> set[uuid.UUID]:
        """Ask these incarnations to claim nothing more and to end; return those that there are."""
        return {row[0] for row in self.rows("drain_workers", {"incarnations": list(incarnations), "now": now}, on)}

    def deregister_worker(self, *, incarnation: uuid.UUID, on: Connection | None = None) -> Place | None:
        """Forget the incarnation; return where it ran, None if it was unknown."""
        rows = self.rows("deregister_worker", {"incarnation": incarnation}, on)
        return Place(*rows[0]) if rows else None

    def find_dead_workers(
        self, *, now: dt.datetime | None = None, on: Connection | None = None
    ) -> dict[uuid.UUID, bool]:
        """Return the incarnations that look dead, each with whether it has been silent for its lease.

        One that is not silent only lost its session lock: believe it at the second look.
        """
        return dict(self.rows("find_dead_workers", {"now": now}, on))

    def terminate_sessions(self, *, incarnation: uuid.UUID, on: Connection | None = None) -> int:
        """End the incarnation's database sessions; return how many there were.

        Raises a database error if this role may not (it may for sessions of its own role).
        """
        return len(self.rows("terminate_sessions", {"application_name": application_name(incarnation)}, on))

    def server_timeline(self, *, on: Connection | None = None) -> str:
        """Return the server's timeline: another one than before means that commits may be lost."""
        return str(self.rows("server_timeline", {}, on)[0][0])
