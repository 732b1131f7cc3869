"""The span of a run: begun with its handler, ended when the database has said what its outcome counts for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..errors import LeaseLost
from ..outcomes import Answer, Release
from ..results import result_id
from ..spans.parts import NO_PART
from .runs import Finished, Run

if TYPE_CHECKING:
    import uuid

    from ..spans.otel import RunSpan, Spans
    from ..spans.parts import NoPart

# In place of an answer: the job had been given back, as at the end of a drain, before its handler ended.
GIVEN_BACK: Final = "given back"


def begin(run: Run, spans: Spans, *, owner: uuid.UUID, child: bool) -> RunSpan | NoPart:
    """Begin the span of a run: a context manager for the handler's time, in which it is current in this thread."""
    claimed, alias = run.held.claimed, run.fence.alias
    run.fence.spans = spans
    run.span = spans.run(claimed, alias=alias, owner=owner, job=result_id(alias, claimed.id), child=child)
    return within(run)


def within(run: Run) -> RunSpan | NoPart:
    """Have the span of a run be the current one, for as long as the block takes."""
    return NO_PART if run.span is None else run.span


def leave(run: Run | None) -> None:
    """See to it that the span of a run is not current any more: it may have been interrupted on its way out."""
    if run is not None and run.span is not None:
        run.span.leave()


def settle(finished: Finished, answer: Answer) -> None:
    """End the span of a run whose outcome the database has answered."""
    if finished.run is not None and finished.run.span is not None:
        _end(finished.run.span, finished, answer.value)


def settle_unheard(finished: Finished) -> None:
    """End the span of a run whose outcome nobody wants any more."""
    if finished.run is not None and finished.run.span is not None:
        _end(finished.run.span, finished, GIVEN_BACK)


def undo(run: Run) -> None:
    """End the span of a run that is made again, since what it shared a transaction with was undone."""
    if run.span is not None:
        run.span.undo()


def ids_of(finished: Finished) -> dict[str, str]:
    """Return what names the run in its trace, for log lines; else the trace that the job came from."""
    if finished.run is not None and finished.run.span is not None:
        return {"trace_id": finished.run.span.trace_id, "span_id": finished.run.span.span_id}
    traceparent = finished.held.claimed.traceparent
    return {} if traceparent is None else {"trace_id": traceparent[3:35]}


def _end(span: RunSpan, finished: Finished, answer: str) -> None:
    error = None if finished.run is None else finished.run.error
    lost = isinstance(finished.outcome, Release) and (finished.held.lapsed or isinstance(error, LeaseLost))
    span.end(finished.outcome, answer, lease_lost=lost)
