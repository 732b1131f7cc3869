"""From numbers to what Prometheus' client writes out: each family once, however many sources add to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..worker.tally import BOUNDS, Durations
from .catalog import METRICS, Kind
from .client import (
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    floatToGoString,
)

# Adds the numbers of one place, as they are now.
Source = Callable[["Families"], None]

_LE = [*map(floatToGoString, BOUNDS), "+Inf"]


class Families:
    """The families of one scrape, in the order of the catalog."""

    def __init__(self) -> None:
        self._families: dict[str, Metric] = {}

    def add(self, name: str, value: float, database: str, *labels: str) -> None:
        """Add a number of a counter or gauge; the labels in the catalog's order."""
        self._family(name).add_metric([database, *labels], value)

    def add_durations(self, name: str, durations: Durations, database: str, *labels: str) -> None:
        """Add a histogram."""
        self._family(name).add_metric(
            [database, *labels], list(zip(_LE, durations.cumulated, strict=True)), durations.seconds
        )

    def all(self) -> Iterator[Metric]:
        """Give the families that something was added to."""
        return (self._families[name] for name in METRICS if name in self._families)

    def _family(self, name: str) -> Any:
        if name not in self._families:
            self._families[name] = _made(name)
        return self._families[name]


def _made(name: str) -> Metric:
    definition = METRICS[name]
    labels = definition.label_names
    if definition.kind is Kind.COUNTER:
        return CounterMetricFamily(name, definition.help, labels=labels)
    if definition.kind is Kind.GAUGE:
        return GaugeMetricFamily(name, definition.help, labels=labels)
    return HistogramMetricFamily(name, definition.help, labels=labels)


class SourceCollector:
    """Asks its sources at each scrape."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = list(sources)

    def collect(self) -> Iterator[Metric]:
        """Give the families as they are now; called by the registry."""
        families = Families()
        for add in self._sources:
            add(families)
        return families.all()


def registry_of(*sources: Source) -> CollectorRegistry:
    """Return a registry of these sources alone: what else a process counts is not ours to give."""
    registry = CollectorRegistry()
    registry.register(SourceCollector(sources))
    return registry
