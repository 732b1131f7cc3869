"""An app that sets OpenTelemetry up, as a project's does: in `ready`, so in its workers too."""

from __future__ import annotations

import os

from django.apps import AppConfig
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from .collector import HTTPExporter


def provider_for(address: str) -> TracerProvider:
    """Return a provider that sends spans to the collector of that address."""
    provider = TracerProvider(resource=Resource.create({"process.pid": os.getpid()}))
    provider.add_span_processor(BatchSpanProcessor(HTTPExporter(address)))
    return provider


class Config(AppConfig):
    """Sends spans to the test's collector."""

    name = "tests.otel"
    label = "otel"

    def ready(self) -> None:
        trace.set_tracer_provider(provider_for(os.environ["COLLECTOR"]))
