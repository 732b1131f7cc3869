"""Enqueue many calls at once: each is checked as one is, and then all of them are stored, or none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async

from . import store
from .calls import Call, P, R
from .conf import ConveyorSettings, conveyor_settings
from .counting import count_stored
from .enqueue import check_transaction, jobs_of, prepared
from .errors import InvalidArguments, describe
from .jsonrule import is_builtin
from .managers.jobs import Accepted
from .notify import notify_on_commit
from .results import accepted_result, stored_results
from .spans.send import is_untraced, send_all
from .states import JobState
from .transactions import joined

if TYPE_CHECKING:
    from .compat import TaskResult
    from .conflicts import Entry, Existing, Key
    from .managers.jobs import JobManager

    Result = TaskResult[..., Any]


def enqueue_many(calls: Iterable[Call[P, R]]) -> list[TaskResult[P, R]]:
    """Store a job for each call, made by ``task.bind(...)``, and return their results in the order given.

    All or none: in one transaction, which is a part of the caller's if there is one on the queues' database.
    Raises what one enqueue raises, the message beginning with the call's place, as in ``calls[3]``; and
    InvalidArguments where the calls are for several backends, or their queues on several databases.
    """
    listed = list(calls)
    for place, call in enumerate(listed):
        if not isinstance(call, Call):
            raise InvalidArguments(f"calls[{place}] is {describe(call)}, not a call: pass task.bind(...).")
    if not listed:
        return []
    stored: list[TaskResult[P, R]] = _backend_of(listed).enqueue_many(listed)
    return stored


async def aenqueue_many(calls: Iterable[Call[P, R]]) -> list[TaskResult[P, R]]:
    """As `enqueue_many`, for async code."""
    return await sync_to_async(enqueue_many)(calls)


def _backend_of(calls: Sequence[Call[..., Any]]) -> Any:
    """Return the task backend of all the calls."""
    names = sorted({call.task.backend for call in calls})
    if len(names) > 1:
        raise InvalidArguments(
            f"enqueue_many stores all of its calls or none, but they are for the backends "
            f"{', '.join(map(repr, names))}. Call it once for each."
        )
    backend = calls[0].task.get_backend()
    if not hasattr(backend, "enqueue_many"):
        raise InvalidArguments(
            f"The backend {names[0]!r} is {type(backend).__qualname__}, which enqueues one by one: use .enqueue(...)."
        )
    return backend


def store_calls(calls: Sequence[Call[..., Any]], *, backend: str) -> tuple[list[Result], list[Result]]:
    """Store the calls for the task backend of that name; return all results, and those of the jobs that are new."""
    settings = conveyor_settings()
    late = _Late(calls, settings)
    is_late = _may_be_late(calls, settings)
    entries: Sequence[Entry] = late if is_late else late.all()
    alias = _one_database(calls, settings)
    check_transaction(calls[0].task.module_path, alias)
    # The results are read before the commit: where one cannot be, nothing has happened.
    with (send := send_all((entry.job for entry in entries), alias=alias, settings=settings)), joined(alias):
        if is_late:
            stored = _store_late(jobs_of(alias), late)
        else:
            stored = store.store_all(jobs_of(alias), [send.marked(entry) for entry in entries])
        results = _results(calls, stored, alias=alias, backend=backend)
        new = [job.id for job in stored if isinstance(job, Accepted)]
        send.has_stored_all(new, existing=len(stored) - len(new))
    count_stored(entry.job for entry, job in zip(entries, stored, strict=True) if isinstance(job, Accepted))
    ready = {
        entry.job.queue
        for entry, job in zip(entries, stored, strict=True)
        if isinstance(job, Accepted) and job.state == JobState.READY
    }
    if ready:
        notify_on_commit(sorted(ready), alias=alias)
    return results, [result for result, job in zip(results, stored, strict=True) if isinstance(job, Accepted)]


class _Late(Sequence["Entry"]):
    """The calls as they are to be stored, each prepared when it is first asked for: while the server stores others."""

    def __init__(self, calls: Sequence[Call[..., Any]], settings: ConveyorSettings) -> None:
        self._calls = calls
        self._settings = settings
        self._entries: list[Entry | None] = [None] * len(calls)

    def __len__(self) -> int:
        return len(self._calls)

    def __getitem__(self, place: Any) -> Any:
        entry = self._entries[place]
        if entry is None:
            call = self._calls[place]
            entry = prepared(call.task, call.args, call.kwargs, f"calls[{place}]", self._settings)
            self._entries[place] = entry
        return entry

    def all(self) -> list[Entry]:
        """Prepare those that are not yet, in the order given."""
        return [self[place] for place in range(len(self))]

    def keys(self) -> list[Key]:
        """Return the `key` of each entry, which takes no preparing."""
        return [(call.task.queue_name, getattr(call.task, "idempotency_key", None) or "") for call in self._calls]


def _may_be_late(calls: Sequence[Call[..., Any]], settings: ConveyorSettings) -> bool:
    """Say whether calls may be prepared while the server stores others: where that runs no code of the project's.

    Such code could want to use the connection, as a page of a query does that is an argument. And a span is told of all
    the jobs before the first is stored.
    """
    return (
        len(calls) > store.CHUNK
        and is_untraced(settings)
        and not any(callable(getattr(call.task, "concurrency_key", None)) for call in calls)
        and all(is_builtin(call.args) and is_builtin(call.kwargs) for call in calls)
    )


def _store_late(jobs: JobManager, late: _Late) -> list[Accepted | Existing]:
    try:
        return store.store_all(jobs, late, late.keys())
    except Exception:
        # They were prepared in the order of their keys; of several that are refused the first one given is to be told.
        late.all()
        raise


def _one_database(calls: Sequence[Call[..., Any]], settings: ConveyorSettings) -> str:
    """Return the database of all the calls' queues."""
    queues = [call.task.queue_name for call in calls]
    aliases = {queue: settings.database_of(queue) for queue in set(queues)}
    first = aliases[queues[0]]
    if len(set(aliases.values())) > 1:
        place, other = next((place, queue) for place, queue in enumerate(queues) if aliases[queue] != first)
        raise InvalidArguments(
            f"enqueue_many stores all of its calls or none, which takes one database: calls[0] is for queue "
            f"{queues[0]!r} on {first!r}, calls[{place}] for queue {other!r} on {aliases[other]!r}. Call it once for "
            f"each database."
        )
    return first


def _results(
    calls: Sequence[Call[..., Any]], stored: Sequence[Accepted | Existing], *, alias: str, backend: str
) -> list[Result]:
    found = stored_results([job.id for job in stored if not isinstance(job, Accepted)], alias=alias, backend=backend)
    return [
        accepted_result(call.task, job, call.args, call.kwargs, alias=alias)
        if isinstance(job, Accepted)
        else found[job.id]
        for call, job in zip(calls, stored, strict=True)
    ]
