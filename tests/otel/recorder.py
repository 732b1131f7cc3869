"""OpenTelemetry's own SDK, set up for a test, and the spans that it has exported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler
from opentelemetry.trace import Tracer

from conveyor_django.spans import guard, switch


class Recorder:
    """What was exported, in the order in which it ended."""

    def __init__(self, sampler: Sampler = ALWAYS_ON) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer: Tracer = self.provider.get_tracer("tests")

    def add(self, processor: SpanProcessor) -> None:
        self.provider.add_span_processor(processor)

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        """Return the spans of that name."""
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        """Return the one span of that name."""
        [span] = self.named(name)
        return span


@contextmanager
def opentelemetry_set_up(provider: TracerProvider) -> Iterator[None]:
    """Have this be the process's provider for the length of a block, though OpenTelemetry would set one once only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "_TRACER_PROVIDER", provider)
        forget()
        yield
    forget()


def forget() -> None:
    """Let Conveyor look anew, and log anew."""
    switch.forget()
    guard._told.clear()


def parent_of(span: ReadableSpan) -> tuple[str, str] | None:
    """Return the (trace, span) ids of a span's parent."""
    return None if span.parent is None else _ids(span.parent)


def ids_of(span: ReadableSpan) -> tuple[str, str]:
    """Return the (trace, span) ids of a span."""
    context = span.get_span_context()
    assert context is not None
    return _ids(context)


def links_of(span: ReadableSpan) -> list[tuple[str, str]]:
    """Return the (trace, span) ids of what a span is linked to."""
    return [_ids(link.context) for link in span.links]


def stored_ids(traceparent: str | None) -> tuple[str, str]:
    """Return the (trace, span) ids of a stored context."""
    assert traceparent is not None
    _, trace_id, span_id, _ = traceparent.split("-")
    return trace_id, span_id


def _ids(context: Any) -> tuple[str, str]:
    return trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id)
