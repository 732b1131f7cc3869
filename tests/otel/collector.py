"""A collector in the test's process, and the exporter that sends it spans from any process by HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.request import Request, urlopen

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

SECONDS = 20.0


class HTTPExporter(SpanExporter):
    """Posts spans as the SDK's JSON."""

    def __init__(self, address: str) -> None:
        self._address = address

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        body = "[" + ",".join(span.to_json(indent=None) for span in spans) + "]"
        with urlopen(Request(self._address, data=body.encode()), timeout=SECONDS):  # noqa: S310 - the test's own
            return SpanExportResult.SUCCESS


class Span:
    """A span as it was received; ids are hexadecimal digits."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.name: str = given["name"]
        self.kind: str = given["kind"].removeprefix("SpanKind.").lower()
        self.ids = _ids(given["context"])
        # Of the same trace, always.
        self.parent = (self.ids[0], _digits(given["parent_id"], 16)) if given["parent_id"] else None
        self.links = [_ids(link["context"]) for link in given["links"]]
        self.attributes: dict[str, Any] = given["attributes"]
        self.status: str = given["status"]["status_code"]
        self.events: list[dict[str, Any]] = given["events"]
        self.process: int = given["resource"]["attributes"]["process.pid"]
        self.start: str = given["start_time"]


class Collector:
    """What was received."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def named(self, name: str) -> list[Span]:
        """Return the spans of that name, in the order in which they began."""
        return sorted((span for span in self.spans if span.name == name), key=lambda span: span.start)

    def one(self, name: str) -> Span:
        [span] = self.named(name)
        return span


@contextmanager
def collecting() -> Iterator[tuple[Collector, str]]:
    """Give a collector and its address."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.spans += [Span(given) for given in json.loads(body)]
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class has it
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield collector, f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def _ids(context: dict[str, str]) -> tuple[str, str]:
    return _digits(context["trace_id"], 32), _digits(context["span_id"], 16)


def _digits(number: str, count: int) -> str:
    return number.removeprefix("0x").rjust(count, "0")
