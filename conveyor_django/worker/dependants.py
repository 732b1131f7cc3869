"""After the commit of outcomes: what waited for the jobs of workflows that have ended."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import psycopg

from ..db import Connection, is_transient
from ..log import event, get_logger
from ..managers.release import follow_up
from ..outcomes import Claimed

logger = get_logger("worker.dependants")


def release_dependants(ended: Iterable[Claimed], *, alias: str, on: Connection) -> set[str]:
    """Release what the statements that ended these jobs could not; return the queues where something is ready by it.

    Costs nothing for jobs of no workflow. Transient errors pass through; after any other the scheduler's sweep does it.
    """
    jobs = [job for job in ended if job.workflow_id is not None]
    if not jobs:
        return set()
    workflows = {job.workflow_id for job in jobs if job.workflow_id is not None}
    try:
        return follow_up(alias=alias, ended=[job.id for job in jobs], workflows=workflows, on=on)
    except psycopg.Error as error:
        if is_transient(error) or on.closed:
            raise
        event(
            logger, logging.ERROR, "workflows.release_failed",
            workflows=",".join(map(str, sorted(workflows))), error=str(error).strip(), exc_info=error,
        )  # fmt: skip
        return set()
