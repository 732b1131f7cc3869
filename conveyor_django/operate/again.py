"""New jobs made by hand: one like another with other arguments, one of a cron entry without a tick.

A job's payload is written once, so other arguments are another job. Its key names the job that it was made from and a
number: sent twice, the second finds the first's job, and the two can be found from each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..conf import RESERVED_KEY_PREFIX, conveyor_settings
from ..conflicts import Entry, Existing
from ..crontab import job_of
from ..enqueue import check_transaction, jobs_of, prepare
from ..managers.jobs import Accepted, NewJob
from ..notify import notify_on_commit
from ..registry import resolve_task
from ..states import JobState
from ..store import store_one

if TYPE_CHECKING:
    from ..models import Cron, Job

_AGAIN: Final = f"{RESERVED_KEY_PREFIX}again:"
_BY_HAND: Final = f"{RESERVED_KEY_PREFIX}by-hand:"
_ORIGIN: Final = re.compile(re.escape(_AGAIN) + r"([0-9]{1,19}):[0-9]+", re.ASCII)
# Jobs made from one that are looked for.
MOST: Final = 50


def enqueue_again(job: Job, args: Sequence[Any], kwargs: Mapping[str, Any], *, number: int) -> Accepted | Existing:
    """Enqueue a job like this one with other arguments, the `number`th made from it, outside of any workflow.

    It goes to the same queue, with the same priority and budget, to run at once. Returns the
    Existing one where that was done before with the same arguments. Raises what `prepare` raises, and UnknownTask;
    ForeignTransaction; IdempotencyConflict where it was done with other arguments.
    """
    new = job_again(job, args, kwargs)._replace(idempotency_key=f"{_AGAIN}{job.pk}:{number}")
    return _store(new, alias_of(job))


def job_again(job: Job, args: Sequence[Any], kwargs: Mapping[str, Any]) -> NewJob:
    """Return the validated job with these arguments. Raises as `enqueue_again` does; touches no database."""
    task = resolve_task(job.task)
    new = prepare(task, args, kwargs)
    # A callable says the key of these arguments; a key that a call was given stays.
    key = new.concurrency_key if callable(getattr(task, "concurrency_key", None)) else job.concurrency_key
    return new._replace(
        queue=job.queue, priority=job.priority, max_attempts=job.max_attempts, concurrency_key=key, run_at=None
    )


def made_from(job: Job) -> dict[int, int]:
    """Return {number: id} of the jobs that were made from this one and are still there, of the first MOST."""
    keys = {(job.queue, f"{_AGAIN}{job.pk}:{number}"): number for number in range(1, MOST + 1)}
    holders = jobs_of(alias_of(job)).find_jobs_by_keys(list(keys))
    return {keys[key]: holder.id for key, holder in holders.items()}


def origin_of(job: Job) -> int | None:
    """Return the id of the job that this one was made from; None where it was made from none."""
    named = _ORIGIN.fullmatch(job.idempotency_key or "")
    return int(named[1]) if named else None


def enqueue_cron(entry: Cron, *, token: str) -> Accepted | Existing:
    """Enqueue the entry's job now, whether it is switched on or not; its ticks and its policies stay as they are.

    `token` stands for one wish: the same token finds the same job. Raises what `crontab.job_of` raises, and
    ForeignTransaction.
    """
    alias = alias_of(entry)
    new = job_of(entry.task, entry.args, entry.kwargs, entry.queue, alias=alias, settings=conveyor_settings())
    return _store(new._replace(idempotency_key=f"{_BY_HAND}{entry.name}:{token}"), alias)


def json_of(value: Any) -> str:
    """Return JSON data as text to edit."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def alias_of(row: Job | Cron) -> str:
    """Return the alias of the database that a row was read from."""
    return row._state.db or conveyor_settings().database  # noqa: SLF001 - documented, despite its name


def _store(new: NewJob, alias: str) -> Accepted | Existing:
    check_transaction(new.task, alias)
    stored = store_one(jobs_of(alias), Entry(new))
    if isinstance(stored, Accepted) and stored.state == JobState.READY:
        notify_on_commit([new.queue], alias=alias)
    return stored
