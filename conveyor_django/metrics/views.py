"""The numbers of the web process, and of each database that has jobs."""

from __future__ import annotations

import secrets
from typing import Final

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from ..conf import conveyor_settings
from .client import choose_encoder
from .collector import registry_of
from .databases import database_source
from .enqueued import count_enqueues

_SCHEME: Final = "Bearer "


@login_not_required
@transaction.non_atomic_requests
@never_cache
@require_safe
def metrics(request: HttpRequest, token: str | None = None) -> HttpResponse:
    """Answer a scrape, in the format that it asks for; 401 where a token is set and not given.

    Raises ImproperlyConfigured for an empty token, which would let in everybody.
    """
    if token is not None and not token:
        raise ImproperlyConfigured(
            "The token of conveyor_django.metrics.urls is empty: give it a text, or leave it out."
        )
    if token is not None and not _is_given(token, request.headers.get("Authorization", "")):
        refusal = HttpResponse("A bearer token is needed.\n", status=401, content_type="text/plain; charset=utf-8")
        refusal.headers["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return refusal
    registry = registry_of(*map(database_source, conveyor_settings().databases))
    registry.register(count_enqueues())
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(registry), content_type=content_type)


def _is_given(token: str, header: str) -> bool:
    # A server hands a header's bytes on as if they were Latin-1 (PEP 3333); compare_digest takes ASCII or bytes.
    given = header[len(_SCHEME) :].encode("latin-1", "replace")
    return header.startswith(_SCHEME) and secrets.compare_digest(given, token.encode())
