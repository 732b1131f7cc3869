"""What passes between a client and PostgreSQL, read along the way: statements asked for, the backend's pid, replies.

The frames are those of the "Frontend/Backend Protocol" of PostgreSQL's manual, version 3.0: one byte of type, four of
length, which counts itself; the first message of a client has no type. Neither TLS nor COPY is understood.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Final

from conveyor_django.sql import names, statement

LENGTH: Final = struct.Struct("!I")
# "An SSLRequest", "a GSSENCRequest": the server answers by a byte that is no message.
ENCRYPTION_REQUESTS: Final = frozenset({80877103, 80877104})
READY_FOR_QUERY: Final = b"Z"
BACKEND_KEY_DATA: Final = b"K"
SET_NAME: Final = re.compile(r"SET application_name = '([^']*)'")


class Messages:
    """Cuts a stream of bytes into messages, whatever the pieces in which it comes."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield (type, body) of each message that is complete now."""
        self._rest += data
        while len(self._rest) >= 5:
            end = 1 + LENGTH.unpack_from(self._rest, 1)[0]
            if len(self._rest) < end:
                return
            kind, body, self._rest = self._rest[:1], self._rest[5:end], self._rest[end:]
            yield kind, body


class Requests:
    """The statements that a client asks for, also those that it has prepared before and names only."""

    def __init__(self) -> None:
        self._messages = Messages()
        self._opening = b""
        self._has_opened = False
        # As it was given at connect, or by SET.
        self.application_name = ""
        self._prepared: dict[bytes, str] = {}
        self._portals: dict[bytes, str] = {}

    def feed(self, data: bytes) -> list[str]:
        """Return the texts of the statements whose execution is asked for by what is complete now.

        Raises ValueError for a client that asks for encryption.
        """
        if not self._has_opened:
            data = self._open(data)
        asked = (self._asked(kind, body) for kind, body in self._messages.feed(data))
        return [text for text in asked if text is not None]

    def _open(self, data: bytes) -> bytes:
        """Take the first message, which has no type; return what follows it."""
        self._opening += data
        if len(self._opening) < 8:
            return b""
        length, code = struct.unpack_from("!II", self._opening)
        if code in ENCRYPTION_REQUESTS:
            raise ValueError("the client asks for encryption: give it sslmode=disable and gssencmode=disable")
        if len(self._opening) < length:
            return b""
        self._has_opened = True
        words = self._opening[8:length].split(b"\0")
        if b"application_name" in words[::2]:
            self.application_name = _text(words[words.index(b"application_name") + 1])
        return self._opening[length:]

    def _asked(self, kind: bytes, body: bytes) -> str | None:
        if kind == b"Q":
            text = _text(body.split(b"\0", 1)[0])
            if (name := SET_NAME.search(text)) is not None:
                self.application_name = name[1]
            return text
        if kind == b"P":
            name, query, _ = body.split(b"\0", 2)
            self._prepared[name] = _text(query)
        elif kind == b"B":
            portal, name, _ = body.split(b"\0", 2)
            self._portals[portal] = self._prepared.get(name, "")
        elif kind == b"E":
            return self._portals.get(body.split(b"\0", 1)[0])
        return None


class Replies:
    """What a server says: the pid of the backend, and how many requests it has answered in full."""

    def __init__(self) -> None:
        self._messages = Messages()
        self.backend_pid: int | None = None
        self.answered = 0

    def feed(self, data: bytes) -> None:
        """Take note of what is complete now."""
        for kind, body in self._messages.feed(data):
            if kind == BACKEND_KEY_DATA:
                self.backend_pid = LENGTH.unpack_from(body)[0]
            elif kind == READY_FOR_QUERY:
                self.answered += 1


def kind_of(text: str) -> str:
    """Return a short name for a statement: that of its file in conveyor_django/sql, else its first two words."""
    head = text.lstrip()
    if head.startswith("--"):
        return _files().get(head.splitlines()[0], head.splitlines()[0])
    return " ".join(head.split(maxsplit=2)[:2]).upper()


def _files() -> dict[str, str]:
    """Return the files of statements by their first lines, which are comments and all different."""
    return {statement(name).splitlines()[0]: name for name in names()}


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
