"""What every request to the API passes: its body is bounded, and whatever goes wrong is answered as problem+json."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db import connections, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from .bodies import read_body
from .problems import Problem, problem_response, refused

View = Callable[..., HttpResponseBase]


def gated(view: View) -> View:
    """Let a view be reached by HTTP.

    The API says itself who may come in, and checks the CSRF token of those who come with a session; and an enqueue is
    no part of a transaction of the request, which may be on another database than the queue's.
    """

    @wraps(view)
    def gate(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            response = _pass(view, request, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - answered, and logged where it was not meant to be raised
            response = refused(request, error)
        # Answers are for this caller and this moment.
        response["Cache-Control"] = "no-store"
        return response

    reachable: View = csrf_exempt(login_not_required(gate))
    for alias in connections.settings:
        reachable = transaction.non_atomic_requests(using=alias)(reachable)
    return reachable


def _pass(view: View, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
    if request.method == "POST":
        read_body(request)
    with _head_as_get(request):
        response = view(request, *args, **kwargs)
    return _not_allowed(response) if isinstance(response, HttpResponseNotAllowed) else response


@contextmanager
def _head_as_get(request: HttpRequest) -> Iterator[None]:
    """Let a view see GET in place of HEAD, of whose answer the server leaves the body out."""
    asked = request.method
    request.method = "GET" if asked == "HEAD" else asked
    try:
        yield
    finally:
        request.method = asked


def _not_allowed(response: HttpResponse) -> HttpResponse:
    methods = {method.strip() for method in response["Allow"].split(",")}
    allowed = ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
    return problem_response(Problem(405, "method-not-allowed", f"Allowed here: {allowed}.", headers={"Allow": allowed}))
