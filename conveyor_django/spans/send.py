"""An enqueue on its way: what its jobs store of the trace that they come from, and its span, if it has one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..results import result_id
from ..tracecontext import TraceContext, given_context
from . import names
from .switch import spans_in_use

if TYPE_CHECKING:
    from ..conf import ConveyorSettings
    from ..conflicts import Entry
    from ..managers.jobs import NewJob
    from .otel import SendSpan


class Sending:
    """A context manager for the time in which jobs are stored."""

    __slots__ = ("_alias", "_attributes", "_context", "_span")

    def __init__(self, context: TraceContext | None, span: SendSpan | None = None, alias: str = "") -> None:
        self._context = context
        self._span = span
        self._alias = alias
        self._attributes: dict[str, Any] = {}

    def marked(self, entry: Entry) -> Entry:
        """Return an entry with the trace context that its job is to store."""
        return entry if self._context is None else entry._replace(job=self.marked_job(entry.job))

    def marked_job(self, job: NewJob) -> NewJob:
        """Return a job with the trace context that it is to store."""
        if self._context is None:
            return job
        return job._replace(traceparent=self._context.traceparent, tracestate=self._context.tracestate)

    def has_stored(self, job_id: int, *, existing: bool = False) -> None:
        """Note the one job that was stored, or that has answered for it since its key was taken: `existing`."""
        if self._span is not None:
            self._attributes = {names.MESSAGE_ID: result_id(self._alias, job_id), names.EXISTING: existing}

    def has_stored_all(self, new: Sequence[int], *, existing: int = 0, workflow: int | None = None) -> None:
        """Note the jobs of a batch that are new, how many others answered for one of it, and their workflow."""
        if self._span is not None:
            ids = [result_id(self._alias, job_id) for job_id in new[: names.MAX_JOBS]]
            self._attributes = {names.JOBS: ids, names.EXISTING: existing}
            if workflow is not None:
                self._attributes[names.WORKFLOW] = workflow

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        """End the span, if there is one, as failed if nothing was stored for an error."""
        if self._span is not None:
            self._span.end(self._attributes, error)


_UNTRACED: Final = Sending(None)


def is_untraced(settings: ConveyorSettings) -> bool:
    """Say whether what is enqueued here has no span, and no trace context to store."""
    return spans_in_use(settings) is None and given_context() is None


def send_one(job: NewJob, *, alias: str, settings: ConveyorSettings) -> Sending:
    """Begin to store a job."""
    spans, given = spans_in_use(settings), given_context()
    if spans is None:
        return _UNTRACED if given is None else Sending(given)
    attributes = names.operation(names.SEND, job.queue, alias) | {names.TASK: job.task}
    span = spans.send(names.operation_name(names.SEND, job.queue), attributes, given)
    return Sending(given if span is None else span.context, span, alias)


def send_all(jobs: Iterable[NewJob], *, alias: str, settings: ConveyorSettings) -> Sending:
    """Begin to store a batch of jobs: it has one span, whose context all of them store."""
    spans, given = spans_in_use(settings), given_context()
    if spans is None:
        return _UNTRACED if given is None else Sending(given)
    listed = list(jobs)
    queue = _common({job.queue for job in listed})
    attributes = names.operation(names.SEND, queue, alias) | {names.MESSAGE_COUNT: len(listed)}
    if (task := _common({job.task for job in listed})) is not None:
        attributes[names.TASK] = task
    span = spans.send(names.operation_name(names.SEND, queue), attributes, given)
    return Sending(given if span is None else span.context, span, alias)


def _common(values: set[str]) -> str | None:
    """Return the one value, None where there are several."""
    return next(iter(values)) if len(values) == 1 else None
