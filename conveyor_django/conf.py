"""Conveyor's settings: `settings.CONVEYOR`, read late, frozen, unknown keys refused."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from operator import is_
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from .errors import describe
from .jsonrule import is_storable

# Fixed limits: characters of a queue's name and of an idempotency key; the largest integer; the largest id.
MAX_QUEUE_LENGTH = 128
MAX_KEY_LENGTH = 255
# Keys that begin so are Conveyor's own: a cron entry's tick has one.
RESERVED_KEY_PREFIX = "conveyor:"
CRON_KEY_PREFIX = f"{RESERVED_KEY_PREFIX}cron:"
# An exact cap has a row for each of its places, and a claim looks at all of them.
MAX_EXACT_CAP = 1_000
MAX_INTEGER = 2**31 - 1
MAX_ID = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """The keys of `settings.CONVEYOR["QUEUES"][name]`, in lower case, with their defaults."""

    # The alias in DATABASES where the queue's jobs live; None: CONVEYOR["DATABASE"].
    database: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConveyorSettings:
    """The keys of `settings.CONVEYOR`, in lower case, with their defaults. Times are in seconds."""

    # The alias in DATABASES where jobs live, unless QUEUES gives their queue another.
    database: str = "default"
    # What is different for single queues, by name.
    queues: Mapping[str, QueueSettings] = field(default_factory=lambda: MappingProxyType({}))
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
    # How long a run of an atomic task may take, unless the task says otherwise.
    atomic_timeout_seconds: float = 60.0
    # At most so many small runs of atomic tasks share a transaction; 1: each has its own.
    atomic_group_size: int = 16
    # How long an interrupted handler may take to end; if it does not, its process is ended.
    timeout_grace_seconds: float = 5.0
    # How long ended jobs are kept; None keeps them for ever.
    retention_seconds: float | None = 7 * 86400.0
    failed_retention_seconds: float | None = 90 * 86400.0
    # Where OpenTelemetry is set up: the span of a run has a "link" to that of its enqueue, or is its "child"; or "off".
    spans: str = "link"
    # The HTTP API: bytes of a request's body; jobs of one bulk enqueue.
    api_max_body_bytes: int = 2_000_000
    api_max_batch: int = 1_000
    # Requests of one token, as many of them at once as in a minute; None: no limit.
    api_requests_per_minute: int | None = None
    # Where a trace is to be seen, such as "https://traces.example.com/trace/{trace_id}"; None: no link.
    trace_url: str | None = None
    # Keys whose values the admin masks, beside those that look secret to everybody ("password", "token", …).
    masked_keys: tuple[str, ...] = ()

    @property
    def databases(self) -> tuple[str, ...]:
        """The aliases where jobs live, CONVEYOR["DATABASE"] first."""
        named = (queue.database for queue in self.queues.values())
        return tuple(dict.fromkeys([self.database, *sorted(alias for alias in named if alias)]))

    def database_of(self, queue: str) -> str:
        """Return the alias of the database where the jobs of a queue live."""
        own = self.queues.get(queue)
        return (own and own.database) or self.database


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
    "atomic_timeout_seconds": (_MILLISECOND, _DAY),
    "timeout_grace_seconds": (0, _HOUR),
    "retention_seconds": (0, _CENTURY),
    "failed_retention_seconds": (0, _CENTURY),
}
_WHOLE: tuple[float, float] = (1, MAX_INTEGER)
SPAN_MODES = ("link", "child", "off")
# Of the others. PostgreSQL keeps 64 subtransactions of a session at hand; with more, every snapshot becomes dearer.
_WHOLE_RANGES: dict[str, tuple[float, float]] = {"atomic_group_size": (1, 48)}
_NAMES = {f.name.upper(): f.name for f in fields(ConveyorSettings)}
_QUEUE_NAMES = {f.name.upper(): f.name for f in fields(QueueSettings)}
_OPTIONAL = {"retention_seconds", "failed_retention_seconds", "api_requests_per_minute", "trace_url"}
TRACE_ID_MARK = "{trace_id}"


def conveyor_settings() -> ConveyorSettings:
    """Return the settings in force.

    Raises ImproperlyConfigured with the key, its value and the fix; nothing is silently ignored.
    """
    given: Any = getattr(settings, "CONVEYOR", {})
    if not isinstance(given, dict):
        raise ImproperlyConfigured(f"CONVEYOR must be a dict, not {type(given).__name__}.")
    before, parsed = _last_settings[0]
    if (
        _is_same(given, before)
        # What was changed within them.
        and ("QUEUES" not in given or _queues(given["QUEUES"]) is parsed.queues)
        and ("MASKED_KEYS" not in given or _masked_keys(given["MASKED_KEYS"]) == parsed.masked_keys)
    ):
        return parsed
    parsed = ConveyorSettings(
        **{_name(key, known=_NAMES, place="CONVEYOR"): _value(key, value) for key, value in given.items()}
    )
    _last_settings[0] = (dict(given), parsed)
    return parsed


# What CONVEYOR was when it was parsed last, and what it was parsed to: it is read several times at every enqueue.
_last_settings: list[tuple[dict[Any, Any], ConveyorSettings]] = [({}, ConveyorSettings())]


def _is_same(given: dict[Any, Any], before: dict[Any, Any]) -> bool:
    """Say whether the two have the very same values: equal ones are not enough, since True equals 1 and is refused."""
    return given.keys() == before.keys() and all(map(is_, given.values(), map(before.get, given)))


def is_queue_name(name: Any) -> bool:
    """Say whether a queue can have this name."""
    return isinstance(name, str) and 1 <= len(name) <= MAX_QUEUE_LENGTH and is_storable(name)


def _name(key: Any, *, known: Mapping[str, str], place: str) -> str:
    if key in known:
        return known[key]
    close = difflib.get_close_matches(str(key).upper(), known, n=1)
    hint = f"Did you mean {close[0]!r}?" if close else f"Known keys: {', '.join(sorted(known))}."
    raise ImproperlyConfigured(f"{place} has an unknown key {key!r}. {hint}")


def _alias(value: Any, *, place: str) -> str:
    if isinstance(value, str) and value:
        return value
    raise ImproperlyConfigured(f"{place} must be a database alias, not {value!r}.")


# What QUEUES was when it was parsed last, and what it was parsed to: it is read at every enqueue, and may be long.
_last_queues: list[tuple[dict[str, Any], Mapping[str, QueueSettings]]] = [({}, MappingProxyType({}))]


def _queues(given: Any) -> Mapping[str, QueueSettings]:
    if not isinstance(given, dict):
        raise ImproperlyConfigured(
            f"CONVEYOR['QUEUES'] must be a dict such as {{'billing': {{'DATABASE': 'shard1'}}}}, not {describe(given)}."
        )
    before, parsed = _last_queues[0]
    if given != before:
        parsed = MappingProxyType({name: _queue(name, options) for name, options in given.items()})
        _last_queues[0] = ({name: dict(options) for name, options in given.items()}, parsed)
    return parsed


def _queue(name: Any, given: Any) -> QueueSettings:
    place = f"CONVEYOR['QUEUES'][{describe(name)}]"
    if not is_queue_name(name):
        raise ImproperlyConfigured(
            f"{place} is of no queue: a queue's name is text of 1 to {MAX_QUEUE_LENGTH} characters that PostgreSQL "
            f"can store."
        )
    if not isinstance(given, dict):
        raise ImproperlyConfigured(f"{place} must be a dict such as {{'DATABASE': 'shard1'}}, not {describe(given)}.")
    return QueueSettings(
        **{
            _name(key, known=_QUEUE_NAMES, place=place): _alias(value, place=f"{place}[{key!r}]")
            for key, value in given.items()
        }
    )


def _trace_url(value: Any) -> str:
    """Return a link's pattern. A page shows the link: a scheme of another kind could be code."""
    if isinstance(value, str) and value.count(TRACE_ID_MARK) == 1 and _is_web_address(value):
        return value
    raise ImproperlyConfigured(
        f"CONVEYOR['TRACE_URL'] must be an http:// or https:// address with {TRACE_ID_MARK} once in its path, query or "
        f"fragment, such as 'https://traces.example.com/trace/{TRACE_ID_MARK}', not {describe(value)}."
    )


def _is_web_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    rest = value.replace(TRACE_ID_MARK, "")
    return (
        parts.scheme in {"http", "https"}
        and bool(parts.hostname)
        and TRACE_ID_MARK not in parts.netloc
        and rest.isascii()
        and rest.isprintable()
        and not set(rest) & set(" {}<>\"'\\")
    )


def _masked_keys(value: Any) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)) and all(isinstance(key, str) and any(map(str.isalnum, key)) for key in value):
        return tuple(value)
    raise ImproperlyConfigured(
        f"CONVEYOR['MASKED_KEYS'] must be a list of keys that have a letter or digit, such as ['iban', 'card_number'], "
        f"not {describe(value)}."
    )


def _span_mode(value: Any) -> str:
    if isinstance(value, str) and value in SPAN_MODES:
        return value
    raise ImproperlyConfigured(
        f"CONVEYOR['SPANS'] must be one of {', '.join(map(repr, SPAN_MODES))}, not {describe(value)}."
    )


# Those that are no numbers, nor a database.
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "masked_keys": _masked_keys,
    "queues": _queues,
    "spans": _span_mode,
    "trace_url": _trace_url,
}


def _value(key: str, value: Any) -> Any:
    name = key.lower()
    if name == "database":
        return _alias(value, place=f"CONVEYOR[{key!r}]")
    if value is None and name in _OPTIONAL:
        return None
    if read := _READERS.get(name):
        return read(value)
    whole = name not in RANGES
    bounds = RANGES.get(name) or _WHOLE_RANGES.get(name, _WHOLE)
    if complaint := bad_number(value, *bounds, whole=whole):
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
