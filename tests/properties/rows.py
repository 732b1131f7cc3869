"""What of the tables is compared with the reference."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

if TYPE_CHECKING:
    from conveyor_django.db import Connection

    from .entities import Job


class JobRow(NamedTuple):
    """A job's row, without its place in line, which is compared as an order."""

    state: str
    run_at: dt.datetime
    attempt: int
    lost: int
    releases: int
    version: int
    owner: UUID | None
    expires: dt.datetime | None
    cancelling: bool
    pending: int


@dataclass(frozen=True)
class Snapshot:
    """The rows: jobs by id, ledger by (job, step), attempts by (job, version), edges by (child, parent)."""

    jobs: dict[int, JobRow]
    ledger: dict[tuple[int, str], tuple[int, UUID]]
    attempts: dict[tuple[int, int], tuple[str, UUID, int]]
    edges: dict[tuple[int, int], bool]


def job_row(job: Job) -> JobRow:
    """Return the row that a job of the reference has to have."""
    return JobRow(
        state=job.state, run_at=job.run_at, attempt=job.attempt, lost=job.lost, releases=job.releases,
        version=job.version, owner=job.owner, expires=job.expires, cancelling=job.cancelling, pending=job.pending,
    )  # fmt: skip


_QUERIES: Final = (
    """
    SELECT id, state, run_at, attempt, lost_count, release_count, lease_version, lease_owner, lease_expires_at,
           cancel_requested_at IS NOT NULL, pending_dependencies
    FROM conveyor_job
    """,
    "SELECT job_id, step, lease_version, owner FROM conveyor_ledger",
    "SELECT job_id, lease_version, verb, owner, number FROM conveyor_attempt",
    "SELECT job_id, needs_id, resolved FROM conveyor_dependency",
    "SELECT id, ready_seq FROM conveyor_job WHERE state = 'ready'",
)


def read_rows(connection: Connection) -> tuple[Snapshot, dict[int, int]]:
    """Read the tables, and the place in line of every job that is ready, in one round trip."""
    with connection.pipeline():
        cursors = [connection.execute(query) for query in _QUERIES]
        jobs, ledger, attempts, edges, places = (cursor.fetchall() for cursor in cursors)
    snapshot = Snapshot(
        jobs={job: JobRow(*row) for job, *row in jobs},
        ledger={(job, step): (version, owner) for job, step, version, owner in ledger},
        attempts={(job, version): (verb, owner, number) for job, version, verb, owner, number in attempts},
        edges={(child, parent): resolved for child, parent, resolved in edges},
    )
    return snapshot, dict(places)
