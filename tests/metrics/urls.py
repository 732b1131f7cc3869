"""A project that serves its metrics, to anybody and to who has the token."""

from __future__ import annotations

from django.urls import include, path

METRICS = "conveyor_django.metrics.urls"

urlpatterns = [
    path("metrics/", include(METRICS)),
    path("guarded/", include(METRICS), {"token": "s3crét"}),
    path("broken/", include(METRICS), {"token": ""}),
]
