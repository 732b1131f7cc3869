"""JSON text as people read it: indented, bounded, what looks secret masked.

It works on the text and not on the value: the beginning of a payload of megabytes is enough to show it, and no number
is read, so that none is rounded or refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..conf import conveyor_settings

# Characters of a JSON text that a page reads of one value, and that it shows of it, indented.
READ: Final = 20_000
SHOWN: Final = 2 * READ

MASK: Final = '"********"'
# Within a key, whatever its case and whatever is between its words.
SECRET_PARTS: Final = (
    "accesskey", "apikey", "authorization", "cardnumber", "cookie", "credential", "cvc", "cvv", "passcode",
    "passphrase", "passwd", "password", "privatekey", "pwd", "secret", "sessionid", "signingkey", "token",
)  # fmt: skip
# These as the whole key alone: "auth" is within "author" too.
SECRET_WHOLES: Final = frozenset({"auth", "bearer", "jwt", "otp", "pass", "pin", "session", "ssn"})

# The beginning of a text may end within a string.
_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_NOT_ALNUM: Final = re.compile(r"[\W_]+")
_OPENS: Final = frozenset("{[")
_CLOSES: Final = frozenset("}]")


def is_secret(key: str) -> bool:
    """Say whether the values of a key are masked: it looks secret, or CONVEYOR["MASKED_KEYS"] has it."""
    plain = _plain(key)
    return (
        plain in SECRET_WHOLES
        or any(part in plain for part in SECRET_PARTS)
        or any(_plain(part) in plain for part in conveyor_settings().masked_keys)
    )


def readable(text: str, *, length: int | None = None, names: Sequence[str | None] = ()) -> str:
    """Return a JSON text, or its beginning, indented, with what looks secret masked.

    `length` is that of the whole text. `names` are those of the items of an outermost list: a function's parameters.
    """
    printer = _Printer(names)
    for match in _TOKEN.finditer(text):
        read = match.start() + printer.take(match[0])
        if printer.room <= 0:
            break
    else:
        read = len(text)
    return printer.text() + _left_out((len(text) if length is None else length) - read)


def _plain(key: str) -> str:
    return _NOT_ALNUM.sub("", key).lower()


def _left_out(count: int) -> str:
    return f"\n… {count} characters left out …" if count > 0 else ""


@dataclass(slots=True)
class _Container:
    """A list or an object that has begun."""

    is_object: bool
    items: int = 0
    # In an object: whether a key comes next, and whether the value of the last one is masked.
    awaits_key: bool = True
    hides_value: bool = False


class _Printer:
    """Takes tokens, writes indented text until there is no room left."""

    def __init__(self, names: Sequence[str | None]) -> None:
        self.room = SHOWN
        self._written: list[str] = []
        self._open: list[_Container] = []
        self._hides = [name is not None and is_secret(name) for name in names]
        # How many containers of a masked value are open.
        self._hidden = 0

    def text(self) -> str:
        """Return what was written."""
        return "".join(self._written)

    def take(self, piece: str) -> int:
        """Write one token; return how many of its characters were shown, or were masked."""
        if self._hidden:
            self._hidden += (piece in _OPENS) - (piece in _CLOSES)
            return len(piece)
        if piece in _CLOSES:
            return self._close(piece)
        if piece in {",", ":"}:
            return self._separate(piece)
        if self._open and self._open[-1].is_object and self._open[-1].awaits_key:
            return self._key(piece)
        return self._value(piece)

    def _value(self, piece: str) -> int:
        hides = self._begin_value()
        if hides:
            self._hidden = int(piece in _OPENS)
            self._write(MASK)
            return len(piece)
        if piece in _OPENS:
            self._open.append(_Container(is_object=piece == "{"))
        return self._write(piece)

    def _begin_value(self) -> bool:
        """Go to where a value stands; say whether it is masked."""
        if not self._open:
            return False
        container = self._open[-1]
        if container.is_object:
            return container.hides_value
        self._new_line()
        container.items += 1
        return len(self._open) == 1 and container.items <= len(self._hides) and self._hides[container.items - 1]

    def _key(self, piece: str) -> int:
        container = self._open[-1]
        self._new_line()
        container.items += 1
        container.awaits_key, container.hides_value = False, is_secret(_text_of(piece))
        return self._write(piece)

    def _separate(self, piece: str) -> int:
        if piece == "," and self._open:
            self._open[-1].awaits_key = True
        self._write(": " if piece == ":" else ",")
        return len(piece)

    def _close(self, piece: str) -> int:
        if self._open and self._open.pop().items:
            self._new_line()
        return self._write(piece)

    def _new_line(self) -> None:
        self._write("\n" + "  " * len(self._open))

    def _write(self, text: str) -> int:
        shown = text[: max(self.room, 0)]
        self._written.append(shown)
        self.room -= len(text)
        return len(shown)


def _text_of(piece: str) -> str:
    """Return the key that a token is; of one that was cut, what is there."""
    try:
        return str(json.loads(piece))
    except ValueError:
        return piece
