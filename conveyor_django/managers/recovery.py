"""The takeover of a dead worker process: its sessions, its jobs, its row.

Shared by a worker's supervisor, which sees its child die, and by the scheduler, which finds whole trees dead.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg

from ..log import event, get_logger
from ..outcomes import Answer
from ..states import JobState
from .duties import NEIGHBOUR, NOT_STARTED
from .jobs import JobManager
from .workers import WorkerManager

if TYPE_CHECKING:
    from ..conf import ConveyorSettings
    from ..outcomes import Ended, Token
    from .base import Connection
    from .duties import Rescued

logger = get_logger("recovery")

# What a job taken back became, by state: the line's level and name.
_LINES = {
    JobState.READY: (logging.WARNING, "job.rescued"),
    JobState.FAILED: (logging.ERROR, "job.failed"),
    JobState.CANCELLED: (logging.INFO, "job.cancelled"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """What one pass over a dead worker found: the jobs taken back, and how many sessions it still had."""

    rescued: list[Rescued]
    sessions: int
    # Jobs that it still holds: somebody had their rows locked for a moment.
    held: int
    # The queues in which a run that was ended in its stead made a job ready.
    ready: set[str] = field(default_factory=set)
    # The runs that this pass has ended in its stead.
    ended: list[Token] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether nothing of the worker is left, so that no further pass is needed."""
        return self.sessions == 0 and self.held == 0


def take_over(
    *,
    alias: str,
    incarnation: uuid.UUID,
    settings: ConveyorSettings,
    reason: str,
    started: Iterable[Token] | None,
    ended: Sequence[Ended] = (),
    on: Connection,
) -> Takeover:
    """Make one pass over a dead worker: end its sessions, take back its jobs, forget it if it had no session.

    Repeat it until `done`: a claim in flight may commit after the first pass. `started` names the runs that
    are known to have started, None if nobody knows; `reason` is kept on the lost attempts. `ended` are the outcomes
    of runs that only the worker's death has ended. `on` is a psycopg connection in autocommit. Database errors pass
    through, save that sessions which this role may not end are left to their lease.
    """
    workers = WorkerManager().db_manager(alias)
    sessions = _end_sessions(workers, incarnation, on)
    jobs: JobManager = JobManager().db_manager(alias)
    ready: set[str] = set()
    won: list[Token] = []
    if ended:
        # Before all else is taken back, and with it these; a session of theirs may still have a commit on its way.
        if sessions:
            return Takeover(rescued=[], sessions=sessions, held=jobs.count_held(owner=incarnation, on=on))
        answers, ready = jobs.end_attempts(
            ended, owner=incarnation, keep=settings.max_attempt_rows, max_releases=settings.max_releases, on=on
        )
        log_ended(ended, answers, owner=incarnation)
        won = [token for token, answer in answers.items() if answer is Answer.WON]
        if Answer.BUSY in answers.values():
            return Takeover(rescued=[], sessions=0, held=len(ended), ready=ready, ended=won)
    rescued = jobs.rescue_owner(
        owner=incarnation, started=started, reason=reason, free_reason=NEIGHBOUR if ended else NOT_STARTED,
        max_lost=settings.max_lost, max_releases=settings.max_releases, on=on,
    )  # fmt: skip
    log_rescued(rescued, reason=reason)
    held = jobs.count_held(owner=incarnation, on=on)
    # Last, and only when nothing is left: as long as the row stands, every scheduler's look comes back to it.
    if sessions == 0 and held == 0 and (place := workers.deregister_worker(incarnation=incarnation, on=on)):
        event(
            logger, logging.WARNING, "worker.dead",
            worker=incarnation, host=place.host, pid=place.pid, database=alias, reason=reason,
        )  # fmt: skip
    return Takeover(rescued=rescued, sessions=sessions, held=held, ready=ready, ended=won)


def log_rescued(rescued: Iterable[Rescued], *, reason: str) -> None:
    """Log one line for each job taken back, named by what became of it."""
    for job in rescued:
        level, name = _LINES[job.state]
        event(
            logger, level, name,
            job=job.id, version=job.version, owner=job.owner, queue=job.queue, lost=job.lost, reason=reason,
        )  # fmt: skip


def log_ended(ended: Iterable[Ended], answers: Mapping[Token, Answer], *, owner: uuid.UUID) -> None:
    """Log one line for each run that was ended in the stead of its dead worker."""
    for outcome in ended:
        if answers.get(outcome.token) is Answer.WON:
            event(
                logger, logging.WARNING, "job.ended",
                job=outcome.id, version=outcome.version, owner=owner, verb=outcome.verb.value,
                error=outcome.error.message,
            )  # fmt: skip


def queues_to_wake(rescued: Iterable[Rescued]) -> set[str]:
    """Return the queues in which a job taken back is ready again."""
    return {job.queue for job in rescued if job.state == JobState.READY}


def _end_sessions(workers: WorkerManager, incarnation: uuid.UUID, on: Connection) -> int:
    try:
        sessions = workers.terminate_sessions(incarnation=incarnation, on=on)
    except psycopg.errors.InsufficientPrivilege as error:
        event(
            logger, logging.WARNING, "worker.sessions_kept", worker=incarnation, error=str(error).strip(),
            hint="let workers and schedulers use the same database role, or grant pg_signal_backend",
        )  # fmt: skip
        # Waiting for what cannot be ended would keep the row for ever; a late claim lapses by its lease.
        return 0
    if sessions:
        event(logger, logging.INFO, "worker.sessions_ended", worker=incarnation, sessions=sessions)
    return sessions
