"""The only import site of Prometheus' client."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured

try:
    from prometheus_client import CollectorRegistry, Counter, start_http_server
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
    from prometheus_client.exposition import choose_encoder
    from prometheus_client.multiprocess import MultiProcessCollector
    from prometheus_client.utils import floatToGoString
except ModuleNotFoundError as error:
    if error.name != "prometheus_client":
        raise
    raise ImproperlyConfigured(
        "Conveyor's metrics need prometheus-client, which is not installed: pip install 'conveyor-django[metrics]'."
    ) from error

__all__ = [
    "CollectorRegistry",
    "Counter",
    "CounterMetricFamily",
    "GaugeMetricFamily",
    "HistogramMetricFamily",
    "Metric",
    "MultiProcessCollector",
    "choose_encoder",
    "floatToGoString",
    "start_http_server",
]
