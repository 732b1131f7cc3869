"""Conveyor's settings: `settings.CONVEYOR`, read late, frozen, unknown keys refused."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from .errors import describe

# Fixed limits: characters of a queue's name and of an idempotency key; the largest integer; the largest id.
MAX_QUEUE_LENGTH = 128
MAX_KEY_LENGTH = 255
# Keys that begin so are Conveyor's own: a cron entry's tick has one.
RESERVED_KEY_PREFIX = "conveyor:"
CRON_KEY_PREFIX = f"{RESERVED_KEY_PREFIX}cron:"
MAX_INTEGER = 2**31 - 1
MAX_ID = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ConveyorSettings:
    """The keys of `settings.CONVEYOR`, in lower case, with their defaults. Times are in seconds."""

    # The alias in DATABASES where jobs live.
    database: str = "default"
    # How long a claim holds unless renewed; renewed at a third of it.
    lease_seconds: float = 30.0
    # Runs that may fail before the job does, unless the task says otherwise.
    max_attempts: int = 5
    # Retry delay: base × 2^(attempt−1) with jitter, at most the cap.
    backoff_base_seconds: float = 1.0
    backoff_cap_seconds: float = 3600.0
    # A job lost (its worker died or froze) this many times is failed.
    max_lost: int = 3
    # A job given back this many times without an outcome is failed.
    max_releases: int = 100
    # Attempt rows kept per job.
    max_attempt_rows: int = 100
    # Args and kwargs together, as JSON.
    max_payload_bytes: int = 1_000_000
    # A worker looks for jobs at least this often, whatever it hears.
    poll_seconds: float = 1.0
    # At most one NOTIFY per queue and process in this time; a worker looks again this long after a wake-up.
    notify_window_seconds: float = 0.005
    # How often a scheduler looks.
    scheduler_seconds: float = 1.0
    # How long a stopping worker lets its jobs finish before it gives them back.
    grace_seconds: float = 30.0
    # How long ended jobs are kept; None keeps them for ever.
    retention_seconds: float | None = 7 * 86400.0
    failed_retention_seconds: float | None = 90 * 86400.0


_MILLISECOND, _HOUR, _DAY, _CENTURY = 0.001, 3600, 86400, 100 * 365 * 86400
# The least and the most that each time may be: beyond the most, waits and timestamps overflow, or nothing is rescued.
RANGES: dict[str, tuple[float, float]] = {
    # A lease is renewed at a third of it, and a busy machine is late by some 100 ms; it also bounds the sessions
    # of a frozen worker, whose timeouts are of a second at least.
    "lease_seconds": (1, _DAY),
    "backoff_base_seconds": (0, _CENTURY),
    "backoff_cap_seconds": (_MILLISECOND, _CENTURY),
    "poll_seconds": (_MILLISECOND, _HOUR),
    "notify_window_seconds": (0, 60),
    "scheduler_seconds": (_MILLISECOND, _HOUR),
    "grace_seconds": (0, _DAY),
    "retention_seconds": (0, _CENTURY),
    "failed_retention_seconds": (0, _CENTURY),
}
_WHOLE: tuple[float, float] = (1, MAX_INTEGER)
_NAMES = {f.name.upper(): f.name for f in fields(ConveyorSettings)}
_OPTIONAL = {"retention_seconds", "failed_retention_seconds"}


def conveyor_settings() -> ConveyorSettings:
    """Return the settings in force.

    Raises ImproperlyConfigured with the key, its value and the fix; nothing is silently ignored.
    """
    given: Any = getattr(settings, "CONVEYOR", {})
    if not isinstance(given, dict):
        raise ImproperlyConfigured(f"CONVEYOR must be a dict, not {type(given).__name__}.")
    return ConveyorSettings(**{_name(key): _value(key, value) for key, value in given.items()})


def _name(key: Any) -> str:
    if key in _NAMES:
        return _NAMES[key]
    close = difflib.get_close_matches(str(key).upper(), _NAMES, n=1)
    hint = f"Did you mean {close[0]!r}?" if close else f"Known keys: {', '.join(sorted(_NAMES))}."
    raise ImproperlyConfigured(f"CONVEYOR has an unknown key {key!r}. {hint}")


def _value(key: str, value: Any) -> Any:
    name = key.lower()
    if name == "database":
        if isinstance(value, str) and value:
            return value
        raise ImproperlyConfigured(f"CONVEYOR[{key!r}] must be a database alias, not {value!r}.")
    if value is None and name in _OPTIONAL:
        return None
    whole = name not in RANGES
    if complaint := bad_number(value, *RANGES.get(name, _WHOLE), whole=whole):
        raise ImproperlyConfigured(f"CONVEYOR[{key!r}] {complaint}.")
    return int(value) if whole else float(value)


def bad_number(value: Any, least: float, most: float, *, whole: bool = False) -> str | None:
    """Return what is wrong with a setting's number, as the end of a sentence; None where nothing is."""
    if (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        # False for NaN too; before int(), which infinities do not have.
        and least <= value <= most
        and not (whole and value != int(value))
    ):
        return None
    kind, unit = ("a whole number", "") if whole else ("a number", " (seconds)")
    return f"must be {kind} from {least:,} to {most:,}{unit}, not {describe(value)}"
