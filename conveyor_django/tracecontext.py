"""W3C Trace Context: what a job keeps of the trace that its enqueue belongs to (www.w3.org/TR/trace-context, level 2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from .errors import InvalidArguments, describe

# Members of a tracestate, as W3C bounds them.
MAX_MEMBERS: Final = 32

# version-traceid-parentid-flags; a later version than 00 may have more behind that.
_TRACEPARENT: Final = re.compile(
    r"(?!ff)(?P<version>[0-9a-f]{2})-(?!0{32})(?P<trace>[0-9a-f]{32})-(?!0{16})(?P<span>[0-9a-f]{16})-"
    r"(?P<flags>[0-9a-f]{2})(?P<more>-[\x21-\x7e]{0,200})?"
)
# key=value, the value without comma and equals sign, and not ending with a space.
_MEMBER: Final = re.compile(
    r"(?P<key>[a-z0-9][a-z0-9_*/@-]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
)


class TraceContext(NamedTuple):
    """A span somewhere, by the two headers that name it; made by `read` or `check`, so both are well-formed."""

    traceparent: str
    tracestate: str | None = None

    @property
    def trace_id(self) -> str:
        """The trace's id, 32 hexadecimal digits."""
        return self.traceparent[3:35]

    @property
    def span_id(self) -> str:
        """The span's id, 16 hexadecimal digits."""
        return self.traceparent[36:52]

    @property
    def flags(self) -> int:
        """The trace flags; the lowest bit says that the span was sampled."""
        return int(self.traceparent[53:55], 16)


def read(traceparent: str | None, tracestate: str | None = None) -> TraceContext | None:
    """Return what the two headers say, as W3C has a receiver read them: None, or no tracestate, where malformed."""
    if traceparent is None or not _is_traceparent(traceparent):
        return None
    return TraceContext(traceparent, tracestate if tracestate and _is_tracestate(tracestate) else None)


def check(traceparent: Any, tracestate: Any = None) -> TraceContext:
    """Return what the two headers say. Raises InvalidArguments where one is malformed, with its value."""
    if not isinstance(traceparent, str) or not _is_traceparent(traceparent):
        raise InvalidArguments(
            f"traceparent {describe(traceparent)} is not W3C's version-traceid-parentid-flags, such as "
            f"'00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'; leave it out where there is none."
        )
    if tracestate is None or tracestate == "":
        return TraceContext(traceparent)
    if not isinstance(tracestate, str) or not _is_tracestate(tracestate):
        raise InvalidArguments(
            f"tracestate {describe(tracestate)} is not W3C's list of at most {MAX_MEMBERS} different key=value, such "
            f"as 'vendor=value,other=value'; leave it out where there is none."
        )
    return TraceContext(traceparent, tracestate)


@contextmanager
def trace_context(traceparent: str, tracestate: str | None = None) -> Iterator[TraceContext]:
    """Have what the block enqueues belong to this trace, as when it came with a request's headers.

    It is stored with the jobs; where OpenTelemetry makes spans, it is the parent of the enqueue's span, unless another
    span is current. Raises InvalidArguments for a malformed header; for one of a stranger's, `read` it first.
    """
    context = check(traceparent, tracestate)
    token = _given.set(context)
    try:
        yield context
    finally:
        _given.reset(token)


def given_context() -> TraceContext | None:
    """Return the context of the `trace_context` block that is open here, if one is."""
    return _given.get()


_given: Final[ContextVar[TraceContext | None]] = ContextVar("conveyor_trace_context", default=None)


def _is_traceparent(text: str) -> bool:
    match = _TRACEPARENT.fullmatch(text)
    return match is not None and not (match["version"] == "00" and match["more"])


def _is_tracestate(text: str) -> bool:
    # Empty members are allowed, and spaces around each.
    members = [member.strip(" \t") for member in text.split(",")]
    matches = [_MEMBER.fullmatch(member) for member in members if member]
    keys = {match["key"] for match in matches if match is not None}
    return 1 <= len(matches) <= MAX_MEMBERS and len(keys) == len(matches)
