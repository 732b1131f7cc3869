"""`manage.py conveyor_token`: make, list and revoke the bearer tokens of the HTTP API."""

from __future__ import annotations

import datetime as dt
import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from typing import Any, Final

from django.core.management.base import CommandError
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from ...conf import conveyor_settings
from ...instants import in_utc
from ...models import ApiToken
from ...operate.apiverbs import ApiVerb
from ...operate.tokens import InvalidToken, all_tokens, create_token, revoke_token
from ..base import OperatingCommand
from ..startup import require_migrations

_AGE: Final = re.compile(r"(?P<count>[1-9][0-9]{0,4})(?P<unit>[hd])", re.ASCII)
_UNITS: Final = {"h": "hours", "d": "days"}


class Command(OperatingCommand):
    """Tokens are rows of CONVEYOR["DATABASE"]; the token itself is shown once, when it is made."""

    help = "Make, list and revoke the bearer tokens of the HTTP API."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the three actions."""
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="Make a token, and print it: this once.")
        create.add_argument("name", help="Whose it is, such as the program that will have it.")
        create.add_argument("--queue", action="append", default=[], metavar="QUEUE", help="A queue; may be repeated.")
        create.add_argument("--all-queues", action="store_true", help="Every queue, also those that come later.")
        create.add_argument(
            "--verb", action="append", default=[], metavar="VERB",
            help=f"What it is for, of {', '.join(ApiVerb)}; may be repeated.",
        )  # fmt: skip
        create.add_argument(
            "--expires", type=_instant, metavar="WHEN",
            help="When it ends: 12h or 90d from now, or an instant such as 2030-01-31T08:00:00Z. Without: never.",
        )  # fmt: skip
        actions.add_parser("list", help="List the tokens, the newest first; the tokens themselves are not known.")
        revoke = actions.add_parser("revoke", help="Let nobody use a token any more, at once.")
        revoke.add_argument("prefix", help="How the token begins, as `list` shows it.")

    def handle(self, *, action: str, **options: Any) -> None:
        """Do one of the three."""
        settings = conveyor_settings()
        require_migrations(settings.database, settings)
        try:
            if action == "create":
                self._create(**options)
            elif action == "list":
                self._list()
            else:
                self._revoke(options["prefix"])
        except InvalidToken as error:
            raise CommandError(str(error)) from error

    def _create(
        self,
        *,
        name: str,
        queue: Sequence[str],
        all_queues: bool,
        verb: Sequence[str],
        expires: dt.datetime | None,
        **_: Any,
    ) -> None:
        if bool(queue) == all_queues:
            raise CommandError("name its queues by --queue, which may be repeated, or say --all-queues; not both.")
        row, text = create_token(name, queues=None if all_queues else queue, verbs=verb, expires_at=expires)
        # Alone on standard output, so that a script can take it.
        self.stdout.write(text)
        self.stderr.write(f"{row}: {_scope(row)}. The token is not shown again; keep it as a password.")

    def _list(self) -> None:
        rows = list(all_tokens())
        for row in rows:
            self.stdout.write(f"{row.prefix}  {row.name}: {_scope(row)}; {_state(row)}; {_used(row)}")
        if not rows:
            self.stdout.write("There are no tokens.")

    def _revoke(self, prefix: str) -> None:
        if revoke_token(prefix):
            self.stdout.write(f"{prefix} is revoked.")
        else:
            self.stdout.write(f"{prefix} was revoked before.")


def _scope(row: ApiToken) -> str:
    queues = "every queue" if row.queues is None else f"queues {', '.join(row.queues)}"
    return f"{', '.join(row.verbs)} in {queues}"


def _state(row: ApiToken) -> str:
    if row.revoked_at is not None:
        return f"revoked {_shown(row.revoked_at)}"
    if row.expires_at is None:
        return "never expires"
    return f"{'expired' if row.expires_at <= timezone.now() else 'expires'} {_shown(row.expires_at)}"


def _used(row: ApiToken) -> str:
    return f"last used {_shown(row.last_used_at)}" if row.last_used_at else "never used"


def _shown(instant: dt.datetime) -> str:
    return instant.isoformat(sep=" ", timespec="minutes")


def _instant(text: str) -> dt.datetime:
    """Return when a token ends, in the form that the project's models have."""
    if match := _AGE.fullmatch(text):
        return timezone.now() + dt.timedelta(**{_UNITS[match["unit"]]: int(match["count"])})
    try:
        instant = parse_datetime(text)
    except ValueError:
        instant = None
    if instant is None or timezone.is_naive(instant):
        raise ArgumentTypeError(
            f"must be such as 12h or 90d, or an instant with its offset such as 2030-01-31T08:00:00Z, not {text!r}"
        )
    try:
        utc = in_utc(instant)
    except ValueError as error:
        raise ArgumentTypeError(f"{error}, not {text!r}") from error
    return utc if timezone.is_aware(timezone.now()) else timezone.make_naive(utc)
