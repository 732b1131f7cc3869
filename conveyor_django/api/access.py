"""Who asks, and what they may ask for: a token's verbs and queues, or a user's permissions."""

from __future__ import annotations

from typing import Any, Final, Protocol

from django.conf import settings
from django.http import HttpRequest
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from ..models import ApiToken
from ..operate.apiverbs import PERMISSIONS, ApiVerb
from ..operate.tokens import find_token, seconds_to_wait
from .problems import forbidden, too_many, unauthorized


class Caller(Protocol):
    """Who has sent a request."""

    @property
    def queues(self) -> frozenset[str] | None:
        """The queues that the caller may see and use; None for all of them."""

    def may(self, verb: ApiVerb) -> bool:
        """Say whether the caller may do this, in those queues."""


class TokenCaller:
    """The holder of a token."""

    def __init__(self, token: ApiToken) -> None:
        self.queues = None if token.queues is None else frozenset(token.queues)
        self._verbs = frozenset(token.verbs)

    def may(self, verb: ApiVerb) -> bool:
        """Say whether the token has the verb."""
        return verb in self._verbs


class UserCaller:
    """A user who is logged in."""

    queues: frozenset[str] | None = None

    def __init__(self, user: Any) -> None:
        self._user = user

    def may(self, verb: ApiVerb) -> bool:
        """Say whether the user has the permission for it."""
        return bool(self._user.has_perm(PERMISSIONS[verb]))


class BearerToken(HttpBearer):
    """``Authorization: Bearer …``; who sends one is that token's holder or nobody, whatever cookies come along."""

    def __call__(self, request: HttpRequest) -> TokenCaller | None:
        """Return the token's holder, or None for another scheme: which ninja would log, with the secret, in DEBUG."""
        scheme, _, token = request.headers.get(self.header, "").partition(" ")
        return self.authenticate(request, token) if scheme.lower() == self.openapi_scheme else None

    def authenticate(self, request: HttpRequest, token: str) -> TokenCaller:  # noqa: ARG002
        """Return the token's holder. Raises Problem for any other text, and where the token is used too often."""
        row = find_token(token.strip())
        if row is None:
            raise unauthorized(
                "This token is not valid: it is unknown, or was revoked, or has expired.", error="invalid_token"
            )
        if wait := seconds_to_wait(row):
            raise too_many("This token has made too many requests.", wait)
        return TokenCaller(row)


class DjangoSession(APIKeyCookie):
    """The cookie of a Django session; what changes something needs the CSRF token too."""

    param_name: str = settings.SESSION_COOKIE_NAME

    def __call__(self, request: HttpRequest) -> UserCaller | None:
        """Return the user who is logged in. Raises Problem where the CSRF token is missing or wrong."""
        user = getattr(request, "user", None)
        if user is None or not user.is_authenticated:
            return None
        if check_csrf(request) is not None:
            raise forbidden(
                f"A request by session needs the CSRF token: send the value of the cookie "
                f"{settings.CSRF_COOKIE_NAME!r} in the header X-CSRFToken."
            )
        return UserCaller(user)

    def authenticate(self, request: HttpRequest, key: str | None) -> None:
        """Leave it to `__call__`: the cookie's value alone says nothing."""


WAYS: Final = [BearerToken(), DjangoSession()]


def caller_of(request: HttpRequest) -> Caller:
    """Return who has sent a request that passed one of WAYS."""
    caller: Caller = request.auth  # type: ignore[attr-defined]
    return caller


def require(request: HttpRequest, verb: ApiVerb) -> Caller:
    """Return who has sent the request. Raises Problem where they may not do this in any queue."""
    caller = caller_of(request)
    if not caller.may(verb):
        raise forbidden(f"You may not do this: it needs the verb {verb.value!r}, or {PERMISSIONS[verb]!r} of a user.")
    return caller


def require_queue(caller: Caller, queue: str) -> None:
    """Raise Problem for a queue that is not the caller's, whether there is such a queue or not."""
    if caller.queues is not None and queue not in caller.queues:
        raise forbidden("This token is not for that queue.")
