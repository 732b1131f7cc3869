"""``path("conveyor/metrics/", include("conveyor_django.metrics.urls"))``; from then on the process counts.

With ``{"token": "…"}`` as `path`'s third argument a scrape needs the header ``Authorization: Bearer …``.
"""

from __future__ import annotations

from django.urls import path

from .enqueued import count_enqueues
from .views import metrics

app_name = "conveyor_metrics"
urlpatterns = [path("", metrics, name="metrics")]

count_enqueues()
