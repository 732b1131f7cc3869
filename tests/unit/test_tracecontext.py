"""W3C's headers: what is taken, what is refused, and what a receiver does with the latter."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from conveyor_django import InvalidArguments
from conveyor_django.tracecontext import TraceContext, check, given_context, read, trace_context

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GIVEN = f"00-{TRACE}-{SPAN}-01"

REFUSED: list[Any] = [
    None, 5, "", "00", f"00-{TRACE}-{SPAN}", f"00-{TRACE}-{SPAN}-0", f"00-{TRACE}-{SPAN}-001", f"ff-{TRACE}-{SPAN}-01",
    f"00-{TRACE.upper()}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01", f"00-{TRACE}-{SPAN}-01-x",
    f"{GIVEN}\n", f" {GIVEN}", f"00-{TRACE[:-1]}٣-{SPAN}-01", f"0-{TRACE}-{SPAN}-01", f"{GIVEN}\x00",
    f"01-{TRACE}-{SPAN}-01-{'x' * 10_000}",
]  # fmt: skip
TAKEN = [GIVEN, f"00-{TRACE}-{SPAN}-00", f"00-{TRACE}-{SPAN}-03", f"01-{TRACE}-{SPAN}-01", f"cc-{TRACE}-{SPAN}-01-what"]

REFUSED_STATES: list[Any] = [
    5, "a", "a=", "=1", "A=1", "a=1,a=2", "a=1,b", "a=é", "a=1\n", "a==", "a=b=c", ",", "a=\x00",
    ",".join(f"k{i}=v" for i in range(33)), f"a={'v' * 257}", f"{'k' * 257}=v",
]  # fmt: skip
TAKEN_STATES = [
    "a=1", "a=1,b=2", "a=1 , b=2", "a=1,,b=2", "tenant@system=x", "1a=x", "a_-*/=!$",
    ",".join(f"k{i}=v" for i in range(32)),
    f"a={'v' * 256}", "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7",
]  # fmt: skip


def shortly(value: Any) -> str:
    """Return a test's id."""
    return ascii(value)[:60]


@pytest.mark.parametrize("header", REFUSED, ids=shortly)
def test_a_malformed_traceparent_is_refused_and_read_as_none(header: Any) -> None:
    with pytest.raises(InvalidArguments, match=r"traceparent .* is not W3C's"):
        check(header)
    if header is None or isinstance(header, str):
        assert read(header, "a=1") is None


@pytest.mark.parametrize("header", TAKEN)
def test_a_traceparent_is_taken_as_it_is(header: str) -> None:
    context = check(header)
    assert context == read(header) == TraceContext(header)
    assert (context.trace_id, context.span_id) == (TRACE, SPAN)
    assert context.flags == int(header.split("-")[3], 16)


@pytest.mark.parametrize("state", REFUSED_STATES, ids=shortly)
def test_a_malformed_tracestate_is_refused_and_read_as_none(state: Any) -> None:
    with pytest.raises(InvalidArguments, match=r"tracestate .* is not W3C's"):
        check(GIVEN, state)
    if isinstance(state, str):
        assert read(GIVEN, state) == TraceContext(GIVEN)


@pytest.mark.parametrize("state", TAKEN_STATES, ids=shortly)
def test_a_tracestate_is_taken_as_it_is(state: str) -> None:
    assert check(GIVEN, state) == read(GIVEN, state) == TraceContext(GIVEN, state)


def test_no_tracestate_is_none() -> None:
    assert check(GIVEN, "") == check(GIVEN) == read(GIVEN, "") == TraceContext(GIVEN)


@pytest.mark.parametrize("header", [*TAKEN, *(header for header in REFUSED if isinstance(header, str))], ids=shortly)
def test_it_takes_nothing_that_opentelemetry_does_not(header: str) -> None:
    extracted = TraceContextTextMapPropagator().extract({"traceparent": header})
    if read(header) is not None:
        assert extracted


def test_a_block_gives_its_context_and_takes_it_back() -> None:
    assert given_context() is None
    with trace_context(GIVEN, "a=1") as context:
        assert given_context() == context == TraceContext(GIVEN, "a=1")
        with trace_context(TAKEN[1]):
            assert given_context() == TraceContext(TAKEN[1])
        assert given_context() == context
    assert given_context() is None
