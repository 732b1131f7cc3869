"""What becomes of a cron entry's ticks: those that were missed or would overlap, and when each one's job runs."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeVar

from .conf import CRON_KEY_PREFIX
from .cronspec import CronSpec
from .errors import InvalidCron, describe
from .jsonrule import is_storable
from .states import Missed, Overlap

MAX_NAME_LENGTH: Final = 200
# Jobs that one tick's statement may insert.
MAX_MISSED: Final = 1000
# Seconds; with more than a day nobody would know which tick a job belongs to.
MAX_JITTER: Final = 86_400.0
# A tick that is older than this when it is seen was missed.
LATE: Final = dt.timedelta(minutes=1)
# Ticks that were dropped are counted up to here.
COUNTED: Final = 1000

_Word = TypeVar("_Word", Missed, Overlap)


@dataclass(frozen=True, slots=True, kw_only=True)
class CronPolicy:
    """What an entry does besides ticking. Raises InvalidCron, with the value and the fix, where it cannot be."""

    missed: Missed = Missed.LATEST
    # The most that Missed.ALL makes up for.
    max_missed: int = 100
    overlap: Overlap = Overlap.ALLOW
    # Seconds; each job runs later by a part of it.
    jitter: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no scheduler could do."""
        if not _is_number(self.max_missed, 1, MAX_MISSED) or self.max_missed != int(self.max_missed):
            raise InvalidCron(
                "max_missed",
                f"max_missed must be a whole number from 1 to {MAX_MISSED}, not {describe(self.max_missed)}.",
            )
        if not _is_number(self.jitter, 0, MAX_JITTER):
            raise InvalidCron(
                "jitter_seconds", f"jitter must be seconds from 0 to {MAX_JITTER:.0f}, not {describe(self.jitter)}."
            )


def policy_from(*, missed: Any, max_missed: Any, overlap: Any, jitter: Any) -> CronPolicy:
    """Return the policy of an entry's values as people write them. Raises InvalidCron."""
    return CronPolicy(
        missed=_member("missed", missed, Missed), max_missed=max_missed, overlap=_member("overlap", overlap, Overlap),
        jitter=jitter,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """Ticks that have come: those to enqueue, oldest first; the newest of all; and how many were dropped, at least."""

    ticks: Sequence[dt.datetime]
    newest: dt.datetime
    dropped: int


def due_ticks(spec: CronSpec, policy: CronPolicy, *, after: dt.datetime, now: dt.datetime) -> Due | None:
    """Say what to do about the ticks in (after, now]; None where there are none.

    Missed are all but the newest, and the newest too once it is a minute old.
    """
    kept = spec.newest(policy.max_missed if policy.missed is Missed.ALL else 1, after=after, until=now)
    if not kept:
        return None
    newest = kept[-1]
    if policy.overlap is Overlap.SKIP:
        # Each of the others would still wait when the next one comes.
        kept = kept[-1:]
    if policy.missed is Missed.SKIP and now - newest > LATE:
        kept = []
    # From the newest on where nothing is kept: it is dropped as well.
    end = kept[0] - dt.timedelta(seconds=1) if kept else newest
    dropped = sum(1 for _ in islice(spec.ticks(after, end), COUNTED))
    return Due(ticks=kept, newest=newest, dropped=dropped)


def tick_key(name: str, tick: dt.datetime) -> str:
    """Return the idempotency key of a tick's job: one for each entry and tick, whoever enqueues it."""
    return f"{CRON_KEY_PREFIX}{name}:{_iso(tick)}"


def run_at(name: str, tick: dt.datetime, jitter: float) -> dt.datetime:
    """Return when a tick's job may run: up to `jitter` seconds later, the same for whoever asks."""
    digest = hashlib.sha256(f"{name}:{_iso(tick)}".encode()).digest()
    part = int.from_bytes(digest[:8]) / 2**64
    return tick + dt.timedelta(seconds=part * jitter)


def check_name(name: Any) -> None:
    """Refuse what cannot be an entry's name. Raises InvalidCron."""
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME_LENGTH or not is_storable(name):
        raise InvalidCron(
            "name",
            f"the name of a cron entry must be text of 1 to {MAX_NAME_LENGTH} characters that PostgreSQL can store, "
            f"not {describe(name)}.",
        )


def _iso(tick: dt.datetime) -> str:
    return f"{tick.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%SZ}"


def _member(field: str, value: Any, kind: type[_Word]) -> _Word:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(repr(member.value) for member in kind)
        raise InvalidCron(field, f"{field} must be one of {known}, not {describe(value)}.") from None


def _is_number(value: Any, least: float, most: float) -> bool:
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and not (isinstance(value, float) and math.isnan(value))
        and least <= value <= most
    )
