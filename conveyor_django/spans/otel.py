"""The spans themselves; nothing else imports OpenTelemetry, and this module only where the project has."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from .. import __version__
from ..endings import Ending
from ..outcomes import Answer, Ended
from ..states import Verb
from ..tracecontext import TraceContext, read
from . import names
from .guard import guarded

if TYPE_CHECKING:
    import uuid
    from contextvars import Token
    from typing import Self

    from ..outcomes import Claimed, Outcome

# W3C's headers, whatever else the project propagates: they are what a job's columns hold.
_HEADERS: Final = TraceContextTextMapPropagator()
_MISSING: Final = object()


def find() -> tuple[bool, Spans | None]:
    """Return whether what was found is final, and what makes spans, None where nothing does."""
    # A peek at what is there before a set-up, since the question itself takes longer; it falls back to the question.
    if vars(trace).get("_TRACER_PROVIDER", _MISSING) is None and _asked:
        return False, None
    _asked.append(True)
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        return False, None
    tracer = provider.get_tracer("conveyor_django", __version__, schema_url=names.SCHEMA_URL)
    # OTEL_SDK_DISABLED, for one.
    if isinstance(tracer, trace.NoOpTracer):
        return True, None
    return False, Spans(tracer)


# The first question has OTEL_PYTHON_TRACER_PROVIDER heeded.
_asked: Final[list[bool]] = []


class Spans:
    """Begins spans; None where that failed, which was logged."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    @guarded
    def send(self, name: str, attributes: Mapping[str, Any], given: TraceContext | None) -> SendSpan:
        """Begin the span of an enqueue, and make it the current one; `given` is its parent where no span is current."""
        parent = None
        if given is not None and not trace.get_current_span().get_span_context().is_valid:
            parent = _extracted(given)
        return SendSpan(self._tracer.start_span(name, parent, SpanKind.PRODUCER, attributes=attributes))

    @guarded
    def run(self, claimed: Claimed, *, alias: str, owner: uuid.UUID, job: str, child: bool) -> RunSpan:
        """Begin the span of a run of the job whose public id is `job`; `owner` is the worker process.

        It begins a trace of its own with a link to the enqueue's span, or where `child` is said goes on in that one.
        """
        sent = read(claimed.traceparent, claimed.tracestate)
        origin = None if sent is None else _extracted(sent)
        links = [] if origin is None else [Link(trace.get_current_span(origin).get_span_context())]
        # Not below the current span: what is current in this thread is nothing of this run's.
        parent = origin if child and origin is not None else Context()
        attributes = names.operation(names.PROCESS, claimed.queue, alias) | {
            names.MESSAGE_ID: job, names.CLIENT_ID: str(owner), names.TASK: claimed.task,
            names.ATTEMPT: claimed.attempt, names.MAX_ATTEMPTS: claimed.max_attempts,
            names.LOST_COUNT: claimed.lost_count, names.FENCING_TOKEN: claimed.version,
        }  # fmt: skip
        if claimed.workflow_id is not None:
            attributes[names.WORKFLOW] = claimed.workflow_id
        name = names.operation_name(names.PROCESS, claimed.queue)
        return RunSpan(self._tracer.start_span(name, parent, SpanKind.CONSUMER, attributes=attributes, links=links))

    @guarded
    def part(self, kind: str, name: object = None) -> PartSpan:
        """Begin the span of a part of a run, below the one that is current."""
        attributes = {names.STEP: name} if isinstance(name, str) else {}
        return PartSpan(self._tracer.start_span(names.part_name(kind, name), attributes=attributes))


class _Current:
    """A span that can be made the current one, for a while or several."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._token: Token[Context] | None = None

    def enter(self, context: Context | None = None) -> None:
        """Make it the current one, and `context` the rest of it."""
        self._token = otel_context.attach(trace.set_span_in_context(self._span, context))

    def leave(self) -> None:
        """Let what was current before be it again; harmless where it is not the current one."""
        if self._token is not None:
            otel_context.detach(self._token)
            self._token = None

    def _fail(self, kind: str, message: str) -> None:
        self._span.set_attribute(names.ERROR_TYPE, kind)
        self._span.set_status(Status(StatusCode.ERROR, message))


class SendSpan(_Current):
    """The span of an enqueue, current until it has ended; `context` is what its jobs store, if it names a span."""

    def __init__(self, span: Span) -> None:
        super().__init__(span)
        headers: dict[str, str] = {}
        _HEADERS.inject(headers, trace.set_span_in_context(span, Context()))
        self.context: Final = read(headers.get("traceparent"), headers.get("tracestate"))
        self.enter()

    @guarded
    def end(self, attributes: Mapping[str, Any], error: BaseException | None = None) -> None:
        """End it, with what it has led to."""
        self.leave()
        self._span.set_attributes(attributes)
        if error is not None:
            self._fail(_kind(error), _message(error))
            self._span.record_exception(error)
        self._span.end()


class RunSpan(_Current):
    """The span of one run; a context manager for the handler's time. It ends once it is known how the run counted."""

    def __init__(self, span: Span) -> None:
        super().__init__(span)
        self._left_at: int | None = None
        context = span.get_span_context()
        self.trace_id: Final = trace.format_trace_id(context.trace_id)
        self.span_id: Final = trace.format_span_id(context.span_id)

    @guarded
    def __enter__(self) -> None:
        """Make it the current span, and the only thing in OpenTelemetry's context."""
        self.enter(Context())

    @guarded
    def __exit__(self, *_error: object) -> None:
        """Note the time, which is the span's end unless it is entered again."""
        self.leave()
        self._left_at = time.time_ns()

    @guarded
    def end(self, outcome: Outcome, answer: str, *, lease_lost: bool = False) -> None:
        """End it as of the handler's end, with the outcome and what the database said to it."""
        if self._span.is_recording():
            self._span.set_attributes({names.OUTCOME: outcome.verb.value, names.ANSWER: answer})
            if isinstance(outcome, Ended):
                self._say_ended(outcome)
            if lease_lost or answer == Answer.LOST:
                self._span.set_attribute(names.LEASE_LOST, True)
                self._fail(
                    "LeaseLost", "the job's lease is another run's, or nobody's: what this one did does not count"
                )
        self._span.end(end_time=self._left_at)

    @guarded
    def undo(self) -> None:
        """End it as one that does not count: what it did was rolled back with its group, and it is made again."""
        self._span.set_attribute(names.OUTCOME, "undone")
        self._span.end(end_time=self._left_at)

    def _say_ended(self, outcome: Ended) -> None:
        """Note how a run ended that did not succeed."""
        error, verb = outcome.error, outcome.verb
        if verb in {Verb.RETRY, Verb.SNOOZE}:
            self._span.set_attribute(names.DELAY, outcome.delay)
        kind = error.error_class.removeprefix("builtins.")
        if kind and verb is not Verb.SNOOZE:
            # Its texts are scrubbed, and nothing of the project's is called for them.
            texts = {
                "exception.type": kind, "exception.message": error.message, "exception.stacktrace": error.traceback,
            }  # fmt: skip
            self._span.add_event("exception", texts, self._left_at)
        if verb in {Verb.RETRY, Verb.FAIL, Verb.RELEASE}:
            self._fail(kind or verb.value, error.message)


class PartSpan(_Current):
    """The span of a step or an effect; a context manager for its time."""

    @guarded
    def __enter__(self) -> Self:
        """Make it the current span."""
        self.enter()
        return self

    @guarded
    def remembered(self) -> None:
        """Say that the step was not taken: an earlier run has recorded it."""
        self._span.set_attribute(names.REMEMBERED, True)

    @guarded
    def __exit__(self, _kind_: object, error: BaseException | None, _traceback: object) -> None:
        """End it, as failed if the block has raised; a handler's own word on how the run ends is no failure."""
        self.leave()
        if error is not None and not isinstance(error, Ending):
            self._fail(_kind(error), _message(error))
        self._span.end()


def _extracted(context: TraceContext) -> Context:
    headers = {"traceparent": context.traceparent}
    if context.tracestate is not None:
        headers["tracestate"] = context.tracestate
    return _HEADERS.extract(headers, Context())


def _kind(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except (Exception, SystemExit) as broken:  # noqa: BLE001 - user code: __str__ may do anything
        return f"(its __str__ raised {type(broken).__qualname__})"
