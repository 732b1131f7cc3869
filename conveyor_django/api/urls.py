"""Where the API is: ``path("conveyor/", include("conveyor_django.api.urls"))``."""

from __future__ import annotations

from importlib.util import find_spec

from django.core.exceptions import ImproperlyConfigured
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, include, path, re_path

if find_spec("ninja") is None:
    raise ImproperlyConfigured("The HTTP API needs django-ninja: run `pip install 'conveyor-django[api]'`.")

from .description import api
from .gate import gated


def nothing(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """Refuse any other address below the API."""
    raise Http404


def _patterns() -> list[URLPattern]:
    found = [pattern for pattern in api.urls[0] if isinstance(pattern, URLPattern) and pattern.name != "api-root"]
    for pattern in found:
        pattern.callback = gated(pattern.callback)
    return found


urlpatterns = [
    path("", include((_patterns(), "conveyor-api"), namespace="conveyor-api")),
    # Whatever it is: a dot would match no line break.
    re_path("", gated(nothing)),
]
