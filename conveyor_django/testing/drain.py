"""Running what was enqueued, in the test's own thread and on its own connection."""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from asgiref.sync import async_to_sync
from django.db import connections
from psycopg.pq import TransactionStatus

from ..conf import ConveyorSettings, conveyor_settings
from ..errors import ConveyorError, UnknownTask
from ..log import event, get_logger
from ..managers.release import follow_up
from ..outcomes import Answer, Claimed, Committed, Ended, Succeed
from ..results import stored_result
from ..worker import decide
from ..worker.handler import Handlers
from ..worker.inflight import Held
from ..worker.runs import Finished
from ..worker.runspan import settle
from .databases import databases_of

if TYPE_CHECKING:
    from ..compat import TaskResult
    from ..managers.jobs import JobManager

    Result = TaskResult[..., Any]

logger = get_logger("testing")

BATCH: Final = 1000


def drain(*queues: str, database: str | None = None, max_runs: int = 1000) -> list[Result]:
    """Run the jobs that are ready, and those that they make ready, until there are none; return a result per run.

    Jobs whose time has not come stay (put a `frozen_clock` forward for them). Every queue is served unless some are
    named, in every database that queues live in unless one is given. What a worker does with a handler's end is done
    here too: retries, results, the ledger, what waits for the job. Timeouts are not watched. Inside a TestCase,
    `on_commit` callbacks of a run are called after it; what one raises is logged.

    Raises ConveyorError after `max_runs` runs: there is always one more.
    """
    settings = conveyor_settings()
    results: list[Result] = []
    drains = [_Drain(alias, queues, settings) for alias in ([database] if database else databases_of(queues))]
    while found := [result for one in drains if (result := one.run_next()) is not None]:
        results += found
        if len(results) >= max_runs:
            raise ConveyorError(
                f"drain() has made {len(results)} runs and there are more jobs, as when one retries or enqueues itself "
                f"without end. The last was of {results[-1].task.module_path}. Raise max_runs if that is right."
            )
    return results


class _Drain:
    """One database's part of a drain: a worker with one slot."""

    def __init__(self, alias: str, queues: tuple[str, ...], settings: ConveyorSettings) -> None:
        from ..models import Job

        self._alias = alias
        self._queues = queues
        self._settings = settings
        self._owner = uuid.uuid4()
        self._jobs: JobManager = Job.objects.db_manager(alias)
        self._handlers = Handlers(owner=self._owner, alias=alias, settings=settings)

    def run_next(self) -> Result | None:
        """Run the next job and write how it ended; None if none is ready."""
        claimed = self._claim()
        if claimed is None:
            return None
        with _as_if_committing(self._alias):
            finished = self._run(Held(claimed, deadline=math.inf))
        self._write(finished)
        if self._handlers.wants_announcement(finished):
            self._handlers.announce_end(finished)
        backend = finished.run.task.backend if finished.run else "default"
        return stored_result(claimed.id, alias=self._alias, backend=backend)

    def _claim(self) -> Claimed | None:
        self._jobs.promote_jobs(limit=BATCH)
        queues = self._queues or self._jobs.list_queues()
        leases = dict.fromkeys(queues, self._settings.lease_seconds)
        while not (claim := self._jobs.claim(owner=self._owner, queues=leases, limit=1)).jobs:
            # What cannot run now is out of the way of the next look; what lacked permits has them then.
            if claim.unprovided:
                self._jobs.make_permits(claim.unprovided)
            elif not claim.parked:
                return None
        return claim.jobs[0]

    def _run(self, held: Held) -> Finished:
        try:
            run = self._handlers.prepare(held)
        except UnknownTask as error:
            return Finished(held, decide.unknown_task(held.claimed, error))
        return async_to_sync(self._handlers.acall)(run) if run.is_async else self._handlers.call(run)

    def _write(self, finished: Finished) -> None:
        outcome = finished.outcome
        if isinstance(outcome, Ended):
            self._jobs.end_attempts(
                [outcome], owner=self._owner, keep=self._settings.max_attempt_rows,
                max_releases=self._settings.max_releases,
            )  # fmt: skip
        elif isinstance(outcome, Succeed) and not isinstance(outcome, Committed):
            self._jobs.succeed_jobs([outcome], owner=self._owner)
        settle(finished, Answer.WON)
        self._go_on_from(finished.held.claimed)

    def _go_on_from(self, ended: Claimed) -> None:
        """Put back in line what waited for this run."""
        if ended.concurrency_key is not None:
            self._jobs.unpark_jobs([(ended.queue, ended.concurrency_key)])
        if ended.workflow_id is not None:
            follow_up(alias=self._alias, ended=[ended.id], workflows={ended.workflow_id})


@contextmanager
def _as_if_committing(alias: str) -> Iterator[None]:
    """Where a test has a transaction open: let a run's database error spoil the run alone, and call its hooks.

    A run's writes stay, also of one that fails, as they would where each is committed by itself.
    """
    connection = connections[alias]
    if not connection.in_atomic_block:
        yield
        return
    hooks = len(connection.run_on_commit)
    # None where the database has none; PostgreSQL has.
    savepoint = str(connection.savepoint())
    yield
    if connection.connection.info.transaction_status == TransactionStatus.INERROR:
        connection.savepoint_rollback(savepoint)
        del connection.run_on_commit[hooks:]
        return
    connection.savepoint_commit(savepoint)
    # A hook may enqueue with hooks of its own.
    while len(connection.run_on_commit) > hooks:
        # (savepoints, hook, whether its errors are swallowed)
        hook = connection.run_on_commit.pop(hooks)[1]
        try:
            hook()
        except Exception as error:  # noqa: BLE001 - as in a worker, where the run has committed by then
            event(logger, logging.ERROR, "job.hook_failed", error=repr(error), exc_info=error)
