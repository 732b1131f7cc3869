"""The trace that a job belongs to, with a link to where it is to be seen (W3C Trace Context, level 1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ..conf import TRACE_ID_MARK, conveyor_settings

# Of version 00, and of later ones as far as they begin the same; ids of zeros alone are none.
_TRACEPARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?P<trace_id>(?!0{32})[0-9a-f]{32})-(?P<span_id>(?!0{16})[0-9a-f]{16})-[0-9a-f]{2}(-.*)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What is stored of a trace, and what can be read of it; no ids where it is not as the standard has it."""

    traceparent: str
    tracestate: str | None
    trace_id: str | None
    span_id: str | None
    url: str | None


def trace_of(traceparent: str | None, tracestate: str | None) -> Trace | None:
    """Return the trace that a job was enqueued in; None where it was none."""
    if not traceparent:
        return None
    match = _TRACEPARENT.fullmatch(traceparent)
    pattern = conveyor_settings().trace_url
    return Trace(
        traceparent=traceparent,
        tracestate=tracestate,
        trace_id=match and match["trace_id"],
        span_id=match and match["span_id"],
        url=pattern.replace(TRACE_ID_MARK, match["trace_id"]) if match and pattern else None,
    )
