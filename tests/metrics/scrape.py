"""A scrape as Prometheus makes it: over HTTP, parsed by the client's own parsers."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.samples import Sample

from tests.support.processes import Process

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@dataclass(frozen=True)
class Scrape:
    """The samples of one scrape, and the type of each family."""

    samples: list[Sample]
    types: dict[str, str]
    helps: dict[str, str]

    def total(self, name: str, **labels: str) -> float:
        """Return the sum of the samples that have these labels, as `sum(name{…})` does."""
        return sum(s.value for s in self.samples if s.name == name and labels.items() <= s.labels.items())

    def has(self, name: str, **labels: str) -> bool:
        return any(s.name == name and labels.items() <= s.labels.items() for s in self.samples)

    def growing(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        """Return the samples that may never fall."""
        endings = ("_total", "_bucket", "_count", "_sum")
        return {(s.name, tuple(sorted(s.labels.items()))): s.value for s in self.samples if s.name.endswith(endings)}


def parsed(text: str, content_type: str = "text/plain") -> Scrape:
    """Parse what was served; raises ValueError for what Prometheus would refuse."""
    parse = parse_openmetrics if content_type.startswith("application/openmetrics-text") else parse_text
    families: list[Any] = list(parse(text))
    # The text parser takes a family that comes twice; Prometheus does not.
    assert len({family.name for family in families}) == len(families)
    return Scrape(
        samples=[sample for family in families for sample in family.samples],
        types={family.name: family.type for family in families},
        helps={family.name: family.documentation for family in families},
    )


def scraped(port: int, accept: str = "text/plain") -> Scrape:
    """Scrape a command of this machine."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - our own
        return parsed(answer.read().decode(), answer.headers["Content-Type"])


def port_of(process: Process) -> int:
    """Return the port on which a command serves its metrics."""
    port: int = process.wait_for("metrics.serving")["port"]
    return port


def fell(before: Scrape, after: Scrape) -> Iterable[str]:
    """Return what a later scrape has less of."""
    later = after.growing()
    return [
        f"{key}: {value} → {later.get(key)}" for key, value in before.growing().items() if later.get(key, -1) < value
    ]
