"""URLs of the test project: the admin, and the HTTP API where its extra is installed."""

from __future__ import annotations

from importlib.util import find_spec

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
]
if find_spec("ninja"):
    urlpatterns.append(path("conveyor/", include("conveyor_django.api.urls")))
