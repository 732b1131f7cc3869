"""Bearer tokens of the HTTP API: made, found, revoked.

They are rows of CONVEYOR["DATABASE"], whichever databases their queues live in. Nothing of them is cached: a token that
was revoked is refused from that commit on.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import secrets
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from django.db.models import BooleanField, ExpressionWrapper, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from ..conf import MAX_QUEUE_LENGTH, conveyor_settings, is_queue_name
from ..errors import ConveyorError, describe
from ..instants import in_utc
from ..jsonrule import is_storable
from .apiverbs import ApiVerb

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from ..models import ApiToken

# So that a token in a log or a repository can be told for what it is, by programs that look for such.
MARK: Final = "conveyor"
_TOKEN: Final = re.compile(rf"(?P<prefix>{MARK}_[0-9a-f]{{12}})_[A-Za-z0-9_-]{{43}}", re.ASCII)
MAX_NAME_LENGTH: Final = 200
# A list of tokens has a line for each, and is shown in terminals.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# How old `last_used_at` may be: a write at each request would be a write too many.
USE_NOTED_EVERY: Final = dt.timedelta(hours=1)


class InvalidToken(ConveyorError, ValueError):
    """A token cannot be made as it was asked for, or there is none of this prefix."""


def create_token(
    name: str,
    *,
    queues: Collection[str] | None,
    verbs: Collection[str],
    expires_at: dt.datetime | None = None,
) -> tuple[ApiToken, str]:
    """Make a token for these verbs in these queues (None: in every one); return its row, and the token itself.

    That is to be had here only. Raises InvalidToken with the value and the fix.
    """
    from ..models import ApiToken

    _check(name, queues, verbs, expires_at)
    prefix = f"{MARK}_{secrets.token_hex(6)}"
    text = f"{prefix}_{secrets.token_urlsafe(32)}"
    row = ApiToken(
        name=name,
        prefix=prefix,
        digest=_digest(text),
        queues=None if queues is None else sorted(set(queues)),
        verbs=sorted(set(verbs)),
        created_at=timezone.now(),
        expires_at=expires_at,
    )
    row.save(using=conveyor_settings().database, force_insert=True)
    return row, text


def find_token(text: str) -> ApiToken | None:
    """Return the row of a token that is valid now, by the database's clock; and note, now and then, that it is used."""
    match = _TOKEN.fullmatch(text)
    if match is None:
        return None
    is_stale = Q(last_used_at=None) | Q(last_used_at__lt=Now() - USE_NOTED_EVERY)
    row: ApiToken | None = (
        _tokens()
        .filter(Q(expires_at=None) | Q(expires_at__gt=Now()), prefix=match["prefix"], revoked_at=None)
        .annotate(is_stale=ExpressionWrapper(is_stale, output_field=BooleanField()))
        .first()
    )
    if row is None or not constant_time_compare(row.digest, _digest(text)):
        return None
    if row.is_stale:  # type: ignore[attr-defined]  # annotated above
        _tokens().filter(is_stale, pk=row.pk).update(last_used_at=Now())
    return row


def seconds_to_wait(row: ApiToken) -> float:
    """Charge the token for one request; return 0, or how long to wait where it has made too many."""
    from ..models import ApiToken

    settings = conveyor_settings()
    if settings.api_requests_per_minute is None:
        return 0.0
    tokens = ApiToken.objects.db_manager(settings.database)
    return tokens.pace_token(row.pk, requests=settings.api_requests_per_minute, seconds=60.0)


def all_tokens() -> QuerySet[ApiToken]:
    """Return all tokens, the newest first."""
    return _tokens().order_by("-pk")


def revoke_token(prefix: str) -> bool:
    """Let nobody use the token of this prefix any more; say whether it was not revoked before. Raises InvalidToken."""
    if not is_storable(prefix) or not _tokens().filter(prefix=prefix).exists():
        raise InvalidToken(
            f"no token begins with {describe(prefix)}: give the prefix that `manage.py conveyor_token list` shows, "
            f"such as '{MARK}_0123456789ab', not the token."
        )
    return bool(_tokens().filter(prefix=prefix, revoked_at=None).update(revoked_at=Now()))


def _tokens() -> QuerySet[ApiToken]:
    from ..models import ApiToken

    return ApiToken.objects.using(conveyor_settings().database)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _check(name: str, queues: Collection[str] | None, verbs: Collection[str], expires_at: dt.datetime | None) -> None:
    if not name.strip() or not is_storable(name) or len(name) > MAX_NAME_LENGTH or _CONTROL.search(name):
        raise InvalidToken(
            f"{describe(name)} is no token's name: say in up to {MAX_NAME_LENGTH} characters of one line whose it is, "
            f"such as 'shop'."
        )
    if queues is not None and not queues:
        raise InvalidToken("the token would be for no queue: name the queues, or say that it is for all of them.")
    for queue in queues or ():
        if not is_queue_name(queue):
            raise InvalidToken(
                f"{describe(queue)} is no queue's name: pass text of 1 to {MAX_QUEUE_LENGTH} characters that "
                f"PostgreSQL can store."
            )
    known = ", ".join(ApiVerb)
    if not verbs:
        raise InvalidToken(f"the token would be for nothing: name verbs of {known}.")
    for verb in verbs:
        if verb not in set(ApiVerb):
            raise InvalidToken(f"{describe(verb)} is no verb of the HTTP API: name some of {known}.")
    if expires_at is not None:
        _check_end(expires_at)


def _check_end(expires_at: dt.datetime) -> None:
    try:
        in_utc(expires_at)
    except ValueError as error:
        raise InvalidToken(
            f"the token's end is {expires_at.isoformat()}, but {error}; leave it out for none."
        ) from error
    if expires_at <= timezone.now():
        raise InvalidToken(f"the token would have expired on {expires_at.isoformat()} already: give a later time.")
