"""Refusals: every error of the API is problem+json (RFC 9457), with a stable `code` for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.log import log_response
from ninja.errors import AuthenticationError, ValidationError

MEDIA_TYPE: Final = "application/problem+json"
# Seconds after which a caller may try again what the database kept from being done.
RETRY_SECONDS: Final = 2
# Of one answer; a batch may have one for each of its jobs.
MAX_ERRORS: Final = 100


class Problem(Exception):
    """A request that is refused, and why.

    `errors` says which parts of the request are wrong: each has a `detail`, and a `pointer` into the body (RFC 6901,
    as a URI fragment), or the name of a `parameter` or `header`.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        errors: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = errors
        self.headers = headers or {}
        super().__init__(detail)


def unauthorized(detail: str, *, error: str = "") -> Problem:
    """Return the refusal of a caller that nobody knows, with the challenge of RFC 6750."""
    challenge = 'Bearer realm="conveyor"' + (f', error="{error}"' if error else "")
    return Problem(401, "unauthorized", detail, headers={"WWW-Authenticate": challenge})


def forbidden(detail: str) -> Problem:
    """Return the refusal of a known caller."""
    return Problem(403, "forbidden", detail)


def not_found(detail: str) -> Problem:
    """Return the refusal of what is not there, or not there for this caller."""
    return Problem(404, "not-found", detail)


def invalid(detail: str, **place: str) -> Problem:
    """Return the refusal of one part of a request: `pointer`, `parameter` or `header` says which."""
    return Problem(422, "invalid", detail, errors=[{**place, "detail": detail}])


def too_many(detail: str, seconds: float) -> Problem:
    """Return the refusal of a request that may be made again in so many seconds."""
    return Problem(429, "too-many-requests", detail, headers={"Retry-After": str(max(1, math.ceil(seconds)))})


def problem_response(problem: Problem) -> HttpResponse:
    """Return a refusal as an answer."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "code": problem.code,
        "detail": problem.detail,
    }
    if problem.errors:
        body["errors"] = list(problem.errors)[:MAX_ERRORS]
    return HttpResponse(json.dumps(body), status=problem.status, content_type=MEDIA_TYPE, headers=dict(problem.headers))


def refused(request: HttpRequest, error: Any) -> HttpResponse:
    """Return the answer to a request whose handling raised; what was not meant to be is logged as Django would."""
    problem = problem_of(error)
    response = problem_response(problem)
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        got_request_exception.send(sender=None, request=request)
        log_response(
            "%s: %s", response.reason_phrase, request.path, response=response, request=request, exception=error
        )
    return response


def problem_of(error: Exception) -> Problem:
    """Return the refusal that an exception means."""
    # What the parser of bodies raises comes wrapped.
    for each in (error, error.__cause__):
        if isinstance(each, Problem):
            return each
    return _meant_by(error)


def _meant_by(error: Exception) -> Problem:
    match error:
        case AuthenticationError():
            return unauthorized("Send a token as `Authorization: Bearer …`, or the cookie of a Django session.")
        case ValidationError():
            return _invalid_parts(error.errors)
        case Http404():
            return not_found("There is nothing at this address.")
        case SuspiciousOperation():
            return _unread(error)
        case OperationalError() | InterfaceError():
            return Problem(
                503, "database-unavailable", "The database cannot be used just now. Try again.",
                headers={"Retry-After": str(RETRY_SECONDS)},
            )  # fmt: skip
    return Problem(500, "internal-error", "Something is broken here; the server's log says what.")


def _unread(error: SuspiciousOperation) -> Problem:
    """Return the refusal of a request that Django does not read."""
    if isinstance(error, RequestDataTooBig):
        return Problem(413, "too-large", "The request is larger than this server reads.")
    return Problem(400, "unreadable", "The request has too many parameters, or is not for a host of this server.")


def _invalid_parts(found: Sequence[Mapping[str, Any]]) -> Problem:
    """Return the refusal of a request whose parts are not as `inputs.py` has them."""
    errors = [{**_place(part["loc"]), "detail": str(part["msg"])} for part in found]
    return Problem(422, "invalid", f"{_named(errors[0])}: {errors[0]['detail']}.", errors=errors)


def _named(part: Mapping[str, str]) -> str:
    """Return what a part of a request is called in a sentence."""
    if "parameter" in part:
        return f"The parameter {part['parameter']!r} is not as it has to be"
    inside = part["pointer"] != "#"
    return f"{part['pointer']} in the body is not as it has to be" if inside else "The body is not as it has to be"


def _place(location: Sequence[Any]) -> dict[str, str]:
    """Return where in the request a location is: its source, the view's argument, and the path from there."""
    source, _, *path = map(str, location)
    if source != "body":
        return {"parameter": ".".join(path or [location[1]])}
    return {"pointer": "#" + "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)}
