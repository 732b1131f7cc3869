"""What may be stored as JSON: refuse by name at enqueue, scrub at an outcome.

Django's rule (`normalize_json`: tuples become lists, bytes become text) is applied first; it lets
through what PostgreSQL's jsonb cannot take or would change. An argument like that is refused with the
path to it. A result, message or traceback is scrubbed instead: by then the work is done, and one
bad character must not cost it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from .errors import InvalidArguments, describe, kind_of

MAX_DEPTH = 200
# Some 4,200 digits: Python itself refuses to read or write more than 4,300.
MAX_INT_BITS = 14_000

# Floats from here on have no decimal point in Python's shortest form.
_WRITTEN_OUT = 1e16

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode

# Within these bounds an integer is looked at no further.
_EVERYDAY_INT = 2**63
_SCALARS: Final = frozenset({str, int, float, bool, bytes, type(None)})
# Where a value stands: the name of the outermost, or what holds it and its key there. Text is made of it for an error.
_Path = str | tuple["_Path", Any]

_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def normalize(value: Any, path: str) -> Any:
    """Return `value` as plain JSON types, tuples as lists and bytes as text.

    `path` names the value in the error, as in ``args[0]['when']``.
    Raises InvalidArguments for anything that a jsonb column would refuse or change.
    """
    return _normalize(value, path, 0)


def _normalize(value: Any, path: _Path, depth: int) -> Any:  # noqa: C901, PLR0911 - one for each kind
    if depth > MAX_DEPTH:
        raise InvalidArguments(f"{_shown(path)[:80]}… is more than {MAX_DEPTH} levels deep, or contains itself.")
    # What nearly every value is, without a look at abstract classes: this runs for each value of each job.
    kind = type(value)
    if kind is str and value.isascii() and "\x00" not in value:
        return value
    # No comparison holds for NaN.
    if (kind is int and -_EVERYDAY_INT < value < _EVERYDAY_INT) or (
        kind is float and -_WRITTEN_OUT < value < _WRITTEN_OUT
    ):
        return value
    if kind is list or kind is tuple:
        return [_normalize(item, (path, i), depth + 1) for i, item in enumerate(value)]
    match value:
        case None | bool():
            return value
        case int():
            return _whole(int(value), path)
        case float():
            return _finite(value, path)
        case str():
            return _text(_plain(value), path)
        case bytes():
            return _text(_decoded(value, path), path)
        case Mapping():
            return {_key(key, path): _normalize(item, (path, key), depth + 1) for key, item in value.items()}
        case bytearray() | memoryview():
            pass  # Sequences of ints by type, but never meant as such.
        case Sequence():
            return [_normalize(item, (path, i), depth + 1) for i, item in enumerate(value)]
    raise InvalidArguments(
        f"{_shown(path)} is {describe(value)}, {kind_of(value)}, which JSON cannot hold. "
        f"Pass a string, number, list or dict instead (for a datetime, .isoformat(); for a model, its pk)."
    )


def _shown(path: _Path) -> str:
    """Return a path as it is written in Python: a loop, since what contains itself has a long one."""
    parts = []
    while not isinstance(path, str):
        path, key = path
        parts.append(f"[{key!r}]")
    return "".join([path, *reversed(parts)])


def _plain(value: str) -> str:
    # Not str(value): an enum member or another subclass may show something else than what it holds.
    return str.__str__(value)


def _whole(value: int, path: _Path) -> int:
    if value.bit_length() <= MAX_INT_BITS:
        return value
    raise InvalidArguments(
        f"{_shown(path)} is an integer of {value.bit_length():,} bits; JSON readers take {MAX_INT_BITS:,} at most. "
        f"Pass it as text instead, as in hex(...)."
    )


def _finite(value: float, path: _Path) -> float | int:
    if math.isfinite(value):
        return _exact(value)
    raise InvalidArguments(f"{_shown(path)} is {value!r}, which JSON cannot hold. Pass None or a string instead.")


def _exact(value: float) -> float | int:
    """Return a finite float as the number that comes back as itself.

    PostgreSQL writes the shortest digits of a large one out as a whole number: 1e23 as 10**23, which it is not.
    """
    return int(value) if abs(value) >= _WRITTEN_OUT else float(value)


def _decoded(value: bytes, path: _Path) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise InvalidArguments(
            f"{_shown(path)} is {describe(value)}: bytes that are not UTF-8. Pass base64 text instead."
        ) from None


def _text(value: str, path: _Path, what: str = "") -> str:
    if "\x00" in value:
        raise InvalidArguments(
            f"{what}{_shown(path)} is {describe(value)}: PostgreSQL cannot store the character \\u0000. Remove it."
        )
    if not value.isascii() and _SURROGATE.search(value):
        raise InvalidArguments(
            f"{what}{_shown(path)} is {describe(value)}: it has a lone surrogate, which is not valid Unicode. "
            f"Decode the text with errors='replace'."
        )
    return value


def _key(key: Any, path: _Path) -> str:
    if isinstance(key, str):
        return _text(_plain(key), path, "a key of ")
    raise InvalidArguments(
        f"{_shown(path)} has the key {describe(key)}, {kind_of(key)}; JSON would turn it into text. Use str keys."
    )


def is_storable(text: str) -> bool:
    """Say whether PostgreSQL can store `text`: no NUL, no lone surrogate."""
    # Of ASCII alone, which Python knows without a look at the text, it has no surrogates.
    return "\x00" not in text if text.isascii() else _UNSTORABLE.search(text) is None


def is_builtin(value: Any, depth: int = 0) -> bool:
    """Say whether `value` is of Python's own types throughout, so that `normalize` runs no code of others."""
    kind = type(value)
    if kind in _SCALARS:
        return True
    if depth > MAX_DEPTH:
        return False
    if kind is list or kind is tuple:
        return all(is_builtin(item, depth + 1) for item in value)
    return kind is dict and all(type(key) is str and is_builtin(item, depth + 1) for key, item in value.items())


def dumps(value: Any) -> str:
    """Return `value` as compact JSON text; lone surrogates and NaN are the caller's affair."""
    return _encode(value)


def scrub_text(text: str, limit: int) -> str:
    """Return `text` without what PostgreSQL refuses, its middle cut out past `limit` characters."""
    clean = _UNSTORABLE.sub("\ufffd", text)
    if len(clean) <= limit:
        return clean
    half = limit // 2
    return f"{clean[:half]}\n… {len(clean) - 2 * half} characters left out …\n{clean[-half:]}"


def scrub(value: Any) -> Any:
    """Return normalised JSON data with NUL and lone surrogates replaced, NaN and infinities as None."""
    match value:
        case str():
            return _UNSTORABLE.sub("\ufffd", value)
        case float():
            return _exact(value) if math.isfinite(value) else None
        case dict():
            return {scrub(str(key)): scrub(item) for key, item in value.items()}
        case list():
            return [scrub(item) for item in value]
        case _:
            return value
