"""Cron entries in code: ``@cron("0 6 * * mon", tz="Europe/Berlin")`` above ``@task``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from .compat import Task
from .conf import ConveyorSettings
from .cronrules import CronPolicy, check_name, policy_from
from .cronspec import CronSpec
from .enqueue import call_texts, prepare
from .errors import InvalidCron, describe
from .managers.cron import CronRow
from .managers.jobs import NewJob
from .registry import resolve_task

T = TypeVar("T", bound=Task)  # type: ignore[type-arg]  # any task


@dataclass(frozen=True, slots=True, kw_only=True)
class CronEntry:
    """An entry that stands in the code, validated; `args` and `kwargs` are JSON text."""

    name: str
    spec: CronSpec
    policy: CronPolicy
    task: Task[..., Any]
    args: str
    kwargs: str
    # None: the task's own.
    queue_name: str | None

    @property
    def queue(self) -> str:
        """The queue that its jobs go to."""
        return self.queue_name or self.task.queue_name

    def row(self) -> CronRow:
        """Return the row that says the same."""
        return CronRow(
            name=self.name, expression=self.spec.expression, zone=self.spec.zone, task=self.task.module_path,
            args=self.args, kwargs=self.kwargs, queue=self.queue_name, declared=True, missed=self.policy.missed,
            max_missed=self.policy.max_missed, overlap=self.policy.overlap, jitter_seconds=self.policy.jitter,
        )  # fmt: skip


_entries: Final[dict[str, CronEntry]] = {}


def cron(
    expression: str,
    *,
    tz: str = "UTC",
    name: str | None = None,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    missed: str = "latest",
    max_missed: int = 100,
    overlap: str = "allow",
    jitter: float = 0.0,
    queue_name: str | None = None,
) -> Callable[[T], T]:
    """Enqueue the task below by the clock on the wall in `tz`; returns the task unchanged.

    `name` is the task's path unless given, and stands for the entry in the database. `missed` says what becomes of
    ticks that no scheduler was there for ("skip", "latest", "all": up to `max_missed`), `overlap` of one whose
    predecessor's job has not ended ("allow", "skip"); each job runs up to `jitter` seconds later.

    Everything is checked here, where the module is imported. Raises InvalidCron; InvalidArguments where the arguments
    do not fit the function or JSON; InvalidTask where the task cannot go to that queue; TypeError for no task.
    """
    spec = CronSpec(expression, tz)
    policy = policy_from(missed=missed, max_missed=max_missed, overlap=overlap, jitter=jitter)

    def decorate(task: T) -> T:
        if not isinstance(task, Task):
            raise TypeError(f"@cron needs a task, not {describe(task)}: put it above @task.")
        on_its_queue(task, queue_name)
        args_text, kwargs_text = call_texts(task, args, kwargs or {})
        _register(
            CronEntry(
                name=task.module_path if name is None else name, spec=spec, policy=policy, task=task,
                args=args_text, kwargs=kwargs_text, queue_name=queue_name,
            )
        )  # fmt: skip
        return task

    return decorate


def declared_entries() -> dict[str, CronEntry]:
    """Return the entries of the modules that were imported so far, by name."""
    return dict(_entries)


def preview(
    entry: CronEntry | CronSpec | str, tz: str = "UTC", n: int = 5, *, after: dt.datetime | None = None
) -> list[dt.datetime]:
    """Return the next `n` ticks of an entry or expression, in its zone; those after `after`, or from now on.

    Raises InvalidCron.
    """
    given = entry.spec if isinstance(entry, CronEntry) else entry
    spec = CronSpec(given, tz) if isinstance(given, str) else given
    return [spec.local(tick) for tick in spec.upcoming(n, after=after or dt.datetime.now(dt.UTC))]


def job_of(
    path: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    queue_name: str | None,
    *,
    alias: str,
    settings: ConveyorSettings,
) -> NewJob:
    """Return the job that an entry of database `alias` enqueues.

    Raises what `prepare` raises; UnknownTask and InvalidTask where the task is not there or may not be in that queue;
    InvalidCron where the queue lives on another database.
    """
    job = prepare(on_its_queue(resolve_task(path), queue_name), args, kwargs)
    home = settings.database_of(job.queue)
    if home != alias:
        raise InvalidCron(
            "queue",
            f"its queue {job.queue!r} lives on database {home!r}, and the entry on {alias!r}. Make the entry there, or "
            f"give it another queue.",
        )
    return job


def on_its_queue(task: Task[..., Any], queue_name: str | None) -> Task[..., Any]:
    """Return the task for that queue. Raises InvalidTask where its backend does not know it."""
    return task if queue_name is None else replace(task, queue_name=queue_name)


def _register(entry: CronEntry) -> None:
    check_name(entry.name)
    known = _entries.get(entry.name)
    # The same function in a module that is imported again, after an error in it for example, is no second entry.
    if known is not None and (known.task is entry.task or known.task.module_path != entry.task.module_path):
        raise InvalidCron(
            "name",
            f"there is a cron entry {entry.name!r} already, for {known.task.module_path}. Give one of the two another "
            f"name: @cron(..., name=...).",
        )
    _entries[entry.name] = entry
