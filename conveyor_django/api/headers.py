"""The headers of an enqueue: Idempotency-Key and W3C's trace context."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.http import HttpRequest

from ..conf import MAX_KEY_LENGTH
from ..tracecontext import read, trace_context
from .problems import Problem, invalid

KEY: Final = "Idempotency-Key"
# A string of RFC 8941, which the IETF's draft asks for (draft-ietf-httpapi-idempotency-key-header-07).
_STRING: Final = re.compile(r'"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"')
_PLAIN: Final = re.compile(r"[\x21-\x7e]+")


def idempotency_key(request: HttpRequest) -> str | None:
    """Return the key of a request, quoted as the draft has it or plain as many clients send it; the two are one key.

    Raises Problem where it is neither.
    """
    given = request.headers.get(KEY)
    if given is None:
        return None
    if given.startswith('"'):
        match = _STRING.fullmatch(given.strip())
        key = re.sub(r'\\(["\\])', r"\1", match[1]) if match else ""
    else:
        key = given if _PLAIN.fullmatch(given) else ""
    if not 1 <= len(key) <= MAX_KEY_LENGTH:
        raise _bad_key()
    return key


def _bad_key() -> Problem:
    return invalid(
        f"{KEY} has to be 1 to {MAX_KEY_LENGTH} visible ASCII characters, or such a text in double quotes.", header=KEY
    )


@contextmanager
def trace_of(request: HttpRequest) -> Iterator[None]:
    """Have what the block enqueues belong to the trace of the request; a header that is malformed counts as absent."""
    context = read(request.headers.get("traceparent"), request.headers.get("tracestate"))
    if context is None:
        yield
        return
    with trace_context(*context):
        yield
