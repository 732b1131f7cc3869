"""The examples of docs/traces.md, and the attributes that it lists."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from conveyor_django.models import Job
from conveyor_django.spans import names

from .test_enqueue import GIVEN, pack

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "traces.md").read_text()
# The one that sends spans to a collector is no part of this project.
EXPORTER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


def blocks() -> list[str]:
    found = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    return [dedent(block) for block in found]


def test_an_apps_ready_sets_it_up(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = EXPORTER.split(".")
    for end in range(2, len(parts) + 1):
        name = ".".join(parts[:end])
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules[EXPORTER].OTLPSpanExporter = InMemorySpanExporter  # type: ignore[attr-defined]
    was_set: list[TracerProvider] = []
    monkeypatch.setattr(trace, "set_tracer_provider", was_set.append)
    given: dict[str, Any] = {"__name__": __name__}
    exec(blocks()[0], given)  # noqa: S102 - our own text
    given["ShopConfig"]("shop", sys.modules[__name__]).ready()
    [provider] = was_set
    assert provider.resource.attributes["service.name"] == "shop"
    provider.shutdown()


@pytest.mark.django_db
@pytest.mark.parametrize(("header", "stored"), [(GIVEN, GIVEN), ("nonsense", None), (None, None)])
def test_a_requests_headers_are_stored_or_left_out(header: str | None, stored: str | None) -> None:
    given: dict[str, Any] = {}
    exec(blocks()[1], given)  # noqa: S102 - our own text
    headers = {} if header is None else {"traceparent": header}
    given["enqueue_for"](headers, lambda: pack.enqueue(1))
    assert Job.objects.get().payload.traceparent == stored


def test_it_lists_every_attribute() -> None:
    own = {
        value for value in vars(names).values() if isinstance(value, str) and re.match(r"(messaging|conveyor)\.", value)
    }
    listed = set(re.findall(r"`((?:messaging|conveyor|error)\.[a-z_.]+)`", PAGE)) - {"conveyor."}
    assert own <= listed
    assert listed <= own | {"messaging.system", names.ERROR_TYPE}
    assert f"version {names.SCHEMA_URL.rpartition('/')[2]}" in PAGE
